//! The terminal of an agent that a shim holds.

use std::collections::VecDeque;
use std::sync::Arc;

use ao_core::session::ProcessRef;
use ao_ports::Runtime;
use ao_runtime::{Attachment, Processes};
use async_trait::async_trait;

use super::{AttachOptions, Frame, Shared, Size, View, failed, no_control};
use crate::error::DaemonError;

struct ProcessView {
    processes: Arc<Processes>,
    process: ProcessRef,
    /// Absent only while it is being dropped.
    attachment: Option<Attachment>,
    /// The viewer's window.
    window: Option<Size>,
    has_control: bool,
    /// Control was handed back, of which the shim knows nothing: it only ever gives it to another.
    is_kept_by_shim: bool,
    number: u64,
    shared: Arc<Shared>,
    /// To be shown before what the shim says.
    first: VecDeque<Frame>,
}

pub(super) async fn open(
    processes: Arc<Processes>,
    process: ProcessRef,
    look: AttachOptions,
    shared: Arc<Shared>,
) -> Result<Box<dyn View>, DaemonError> {
    // Control comes afterwards: it changes the size, and the one before has to be known by then.
    let options = AttachOptions { control: false, ..look };
    let attachment = processes.attach(&process, options).await.map_err(failed)?;
    let mut view = ProcessView {
        processes,
        process,
        attachment: Some(attachment),
        window: look.size,
        has_control: false,
        is_kept_by_shim: false,
        number: Shared::number(),
        shared,
        first: VecDeque::new(),
    };
    if look.control {
        view.take().await?;
    }
    Ok(Box::new(view))
}

impl ProcessView {
    fn attachment(&mut self) -> &mut Attachment {
        self.attachment.as_mut().expect("it is there until the view is dropped")
    }

    async fn take(&mut self) -> Result<(), DaemonError> {
        // One that has ended, or has no terminal, has no size that could change.
        let size = self.processes.screen(&self.process).await.ok().map(|screen| screen.size);
        let Some(size) = size else { return Ok(()) };
        self.shared.take(self.number, size);
        self.attachment().take_control().await.map_err(failed)?;
        self.has_control = true;
        if std::mem::take(&mut self.is_kept_by_shim) {
            self.first.push_back(Frame::Control { yours: true });
        }
        if let Some(window) = self.window {
            self.attachment().resize(window).await.map_err(failed)?;
        }
        Ok(())
    }

    async fn hand_back(&mut self) -> Result<(), DaemonError> {
        self.has_control = false;
        let Some(natural) = self.shared.hand_back(self.number) else { return Ok(()) };
        self.is_kept_by_shim = true;
        self.first.push_back(Frame::Control { yours: false });
        self.attachment().resize(natural).await.map_err(failed)
    }
}

#[async_trait]
impl View for ProcessView {
    async fn next(&mut self) -> Result<Option<Frame>, DaemonError> {
        if let Some(frame) = self.first.pop_front() {
            return Ok(Some(frame));
        }
        loop {
            let Some(frame) = self.attachment().next().await.map_err(failed)? else { return Ok(None) };
            match frame {
                // The viewer was told so when they handed it back.
                Frame::Control { yours: false } if std::mem::take(&mut self.is_kept_by_shim) => continue,
                Frame::Control { yours } => self.has_control = yours,
                _ => {}
            }
            return Ok(Some(frame));
        }
    }

    async fn type_bytes(&mut self, bytes: &[u8]) -> Result<(), DaemonError> {
        if !self.has_control {
            return Err(no_control());
        }
        self.attachment().type_bytes(bytes).await.map_err(failed)
    }

    async fn resize(&mut self, size: Size) -> Result<(), DaemonError> {
        self.window = Some(size);
        if !self.has_control {
            return Ok(());
        }
        self.attachment().resize(size).await.map_err(failed)
    }

    async fn control(&mut self, take: bool) -> Result<(), DaemonError> {
        if take { self.take().await } else { self.hand_back().await }
    }
}

impl Drop for ProcessView {
    /// Whoever goes without a word hands control back too.
    fn drop(&mut self) {
        let (Some(natural), Some(mut attachment)) =
            (self.shared.hand_back(self.number), self.attachment.take())
        else {
            return;
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                // If that fails the shim or its program is gone, and with it what had a size.
                let _ = attachment.resize(natural).await;
            });
        }
    }
}
