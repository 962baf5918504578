//! Calls about merge queues.

use super::path::{ItemName, RequestPath};
use super::{ApiCall, Client};
use crate::{MergeQueue, MergeQueues, NewQueueEntry, QueuePause, QueuePriority};

const QUEUE: &str = "/api/queue";

impl Client {
    /// Lists the merge queues of one project, or of all.
    pub fn queues(&self, project: Option<&str>) -> ApiCall<'_, MergeQueues> {
        self.get(RequestPath::new(QUEUE).with("project", project))
    }

    pub fn enqueue(&self, request: &NewQueueEntry) -> ApiCall<'_, MergeQueue> {
        self.post(QUEUE, request)
    }

    pub fn prioritize(&self, pull: &ItemName, priority: i32) -> ApiCall<'_, MergeQueue> {
        self.patch(pull.path(QUEUE, ""), &QueuePriority { priority })
    }

    pub fn dequeue(&self, pull: &ItemName) -> ApiCall<'_, MergeQueue> {
        self.delete(pull.path(QUEUE, ""))
    }

    pub fn pause_queue(&self, order: &QueuePause) -> ApiCall<'_, MergeQueue> {
        self.post(format!("{QUEUE}/pause"), order)
    }

    pub fn resume_queue(&self, order: &QueuePause) -> ApiCall<'_, MergeQueue> {
        self.post(format!("{QUEUE}/resume"), order)
    }
}
