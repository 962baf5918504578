//! A view of the terminal of an agent that a shim holds.

use std::collections::VecDeque;
use std::sync::Arc;

use ao_ports::{Frame, ProcessRef, RuntimeError, TerminalView, ViewOptions};
use async_trait::async_trait;

use super::attach::{self, Attachment};
use super::processes::SharedProcesses;
use super::requests;
use crate::host::viewers::{SharedTerminal, Size};

struct ProcessView {
    processes: Arc<SharedProcesses>,
    process: ProcessRef,
    /// Absent only while it is being dropped.
    attachment: Option<Attachment>,
    /// The viewer's window.
    window: Option<Size>,
    has_control: bool,
    /// Control was handed back, which the shim does not know: it only ever gives control to another.
    is_kept_by_shim: bool,
    number: u64,
    shared: Arc<SharedTerminal>,
    /// Frames that come before those of the shim.
    first: VecDeque<Frame>,
}

pub(super) async fn open(
    processes: &Arc<SharedProcesses>,
    process: &ProcessRef,
    options: ViewOptions,
) -> Result<Box<dyn TerminalView>, RuntimeError> {
    let attempt_dir = processes.find(process)?;
    // Control comes afterwards: it changes the size, and the one before has to be known by then.
    let attachment = attach::attach(&attempt_dir, process, ViewOptions { control: false, ..options }).await?;
    let mut view = ProcessView {
        processes: processes.clone(),
        process: process.clone(),
        attachment: Some(attachment),
        window: options.size,
        has_control: false,
        is_kept_by_shim: false,
        number: SharedTerminal::number(),
        shared: processes.host.viewers.of(attempt_dir.key),
        first: VecDeque::new(),
    };
    if options.control {
        view.take().await?;
    }
    Ok(Box::new(view))
}

impl ProcessView {
    fn attachment(&mut self) -> &mut Attachment {
        self.attachment.as_mut().expect("it is there until the view is dropped")
    }

    async fn take(&mut self) -> Result<(), RuntimeError> {
        // One that has ended, or has no terminal, has no size that could change.
        let size = requests::screen(&self.processes, &self.process).await.ok().map(|screen| screen.size);
        let Some(size) = size else { return Ok(()) };
        self.shared.take(self.number, size);
        self.attachment().take_control().await?;
        self.has_control = true;
        if std::mem::take(&mut self.is_kept_by_shim) {
            self.first.push_back(Frame::Control { yours: true });
        }
        if let Some(window) = self.window {
            self.attachment().resize(window).await?;
        }
        Ok(())
    }

    async fn hand_back(&mut self) -> Result<(), RuntimeError> {
        self.has_control = false;
        let Some(natural) = self.shared.hand_back(self.number) else { return Ok(()) };
        self.is_kept_by_shim = true;
        self.first.push_back(Frame::Control { yours: false });
        self.attachment().resize(natural).await
    }
}

#[async_trait]
impl TerminalView for ProcessView {
    async fn next(&mut self) -> Result<Option<Frame>, RuntimeError> {
        if let Some(frame) = self.first.pop_front() {
            return Ok(Some(frame));
        }
        loop {
            match self.attachment().next().await? {
                // The viewer got this frame when it handed control back.
                Some(Frame::Control { yours: false }) if std::mem::take(&mut self.is_kept_by_shim) => {}
                Some(Frame::Control { yours }) => {
                    self.has_control = yours;
                    return Ok(Some(Frame::Control { yours }));
                }
                frame => return Ok(frame),
            }
        }
    }

    async fn type_bytes(&mut self, bytes: &[u8]) -> Result<(), RuntimeError> {
        if !self.has_control {
            return Err(RuntimeError::NoControl);
        }
        self.attachment().type_bytes(bytes).await
    }

    async fn resize(&mut self, size: Size) -> Result<(), RuntimeError> {
        self.window = Some(size);
        if !self.has_control {
            return Ok(());
        }
        self.attachment().resize(size).await
    }

    async fn control(&mut self, take: bool) -> Result<(), RuntimeError> {
        if take { self.take().await } else { self.hand_back().await }
    }
}

impl Drop for ProcessView {
    /// Hands control back.
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
