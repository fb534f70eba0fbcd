//! A queue of ten items of ten bytes.

#![no_std]
#![no_main]

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW])]
mod app {
    use rtic_sync::channel::{Receiver, Sender};
    use rtic_sync::make_channel;
    use rtmark_probe::scenario::{self, POLLS, SAMPLES};
    use rtmark_probe::{begin, end, scenarios};

    const LENGTH: usize = 10;

    type Item = [u8; 10];
    type ItemSender = Sender<'static, Item, LENGTH>;
    type ItemReceiver = Receiver<'static, Item, LENGTH>;

    /// An item that no other sample has.
    fn item(sample: u32) -> Item {
        core::array::from_fn(|byte| (3 * sample + byte as u32) as u8)
    }

    #[shared]
    struct Shared {}

    #[local]
    struct Local {
        sender: ItemSender,
        receiver: ItemReceiver,
    }

    #[init]
    fn init(cx: init::Context) -> (Shared, Local) {
        rtmark_rtic::start(cx.core.SYST);
        let (sender, receiver) = make_channel!(Item, LENGTH);
        let _ = low::spawn();
        (Shared {}, Local { sender, receiver })
    }

    #[task(priority = 1, local = [sender, receiver])]
    async fn low(cx: low::Context) {
        let low::LocalResources { sender, receiver, .. } = cx.local;
        scenarios! {
            "queue.send.immediate" => send(sender, receiver),
            "queue.receive.immediate" => receive(sender, receiver).await,
            "queue.receive.poll_empty" => poll(receiver),
        }
    }

    // queue.send.immediate: nobody waits, and there is room.

    fn send(sender: &mut ItemSender, receiver: &mut ItemReceiver) {
        for sample in 0..SAMPLES {
            let sent = item(sample);

            begin!("queue.send.immediate");
            let result = sender.try_send(sent);
            end!("queue.send.immediate");

            scenario::expect("items refused", u32::from(result.is_err()), 0);
            if receiver.try_recv().ok() != Some(item(sample)) {
                scenario::fail_with("another item was received than sent in sample", sample);
            }
        }
        scenario::ok();
    }

    // queue.receive.immediate: an item is there.

    async fn receive(sender: &mut ItemSender, receiver: &mut ItemReceiver) {
        for sample in 0..SAMPLES {
            let sent = sender.try_send(item(sample));
            scenario::expect("items refused", u32::from(sent.is_err()), 0);

            begin!("queue.receive.immediate");
            let received = receiver.recv().await;
            end!("queue.receive.immediate");

            if received.ok() != Some(item(sample)) {
                scenario::fail_with("another item was received than sent in sample", sample);
            }
        }
        scenario::expect("queue is empty", u32::from(receiver.is_empty()), 1);
        scenario::ok();
    }

    // queue.receive.poll_empty: nobody ever sends.

    fn poll(receiver: &mut ItemReceiver) {
        let mut received = 0;
        for _ in 0..POLLS {
            begin!("queue.receive.poll_empty");
            let result = receiver.try_recv();
            end!("queue.receive.poll_empty");

            received += u32::from(result.is_ok());
        }
        scenario::expect("items received from an empty queue", received, 0);
        scenario::ok();
    }
}
