//! Channels between tasks: their ends go to the tasks that the table names.

use rtic_sync::channel::{Receiver, Sender};
use rtic_sync::make_channel;

use crate::plan::{self, ITEMS, Message, QUEUES, Task};

/// The ends of channels that are a task's, each where its queue is.
pub struct Ends {
    senders: [Option<Sender<'static, Message, ITEMS>>; QUEUES],
    receivers: [Option<Receiver<'static, Message, ITEMS>>; QUEUES],
}

impl Ends {
    /// Both ends of all channels. Once only.
    pub fn all() -> Self {
        let channels = [
            make_channel!(Message, ITEMS),
            make_channel!(Message, ITEMS),
            make_channel!(Message, ITEMS),
            make_channel!(Message, ITEMS),
        ];
        let mut ends =
            Self { senders: [const { None }; QUEUES], receivers: [const { None }; QUEUES] };
        for (queue, (sender, receiver)) in channels.into_iter().enumerate() {
            ends.senders[queue] = Some(sender);
            ends.receivers[queue] = Some(receiver);
        }
        ends
    }

    /// Those of a task, out of these.
    pub fn of(&mut self, task: &Task) -> Self {
        Self {
            senders: core::array::from_fn(|queue| {
                self.senders[queue].take_if(|_| task.sends(queue))
            }),
            receivers: core::array::from_fn(|queue| {
                self.receivers[queue].take_if(|_| task.receives(queue))
            }),
        }
    }

    /// What has gathered.
    #[inline(always)]
    pub fn receive(&mut self) {
        for (queue, receiver) in self.receivers.iter_mut().enumerate() {
            if let Some(receiver) = receiver {
                plan::receive(queue, || receiver.try_recv().ok());
            }
        }
    }

    /// A message to each.
    #[inline(always)]
    pub fn send(&mut self) {
        for (queue, sender) in self.senders.iter_mut().enumerate() {
            if let Some(sender) = sender {
                plan::send(queue, |message| sender.try_send(message).is_ok());
            }
        }
    }
}
