//! A queue of ten items of ten bytes.

#![no_std]
#![no_main]

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW, RUN_HIGH])]
mod app {
    use rtic_sync::channel::{Receiver, Sender};
    use rtic_sync::make_channel;
    use rtmark_board::{Counter, Item, Odd};
    use rtmark_probe::scenario::{self, POLLS, SAMPLES};
    use rtmark_probe::{begin, end, scenarios};

    const LENGTH: usize = 10;

    type ItemSender = Sender<'static, Item<10>, LENGTH>;
    type ItemReceiver = Receiver<'static, Item<10>, LENGTH>;

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
        let (sender, receiver) = make_channel!(Item<10>, LENGTH);
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
            "queue.send.poll_full" => full(sender),
            "queue.send.wake+ctx" => send_wake().await,
            "queue.receive.blocking" => send_wake().await,
            "queue.receive.wake+ctx" => receive_wake().await,
            "queue.send.blocking" => receive_wake().await,
            "queue.handover" => ask().await,
            "queue.send.4b" => sized_4().await,
            "queue.receive.4b" => sized_4().await,
            "queue.send.16b" => sized_16().await,
            "queue.receive.16b" => sized_16().await,
            "queue.send.64b" => sized_64().await,
            "queue.receive.64b" => sized_64().await,
            "queue.send.256b" => sized_256().await,
            "queue.receive.256b" => sized_256().await,
            "queue.send.16b.unaligned" => unaligned().await,
        }
    }

    // queue.send.immediate: nobody waits, and there is room.

    fn send(sender: &mut ItemSender, receiver: &mut ItemReceiver) {
        for sample in 0..SAMPLES {
            let sent = Item::of(sample);

            begin!("queue.send.immediate");
            let result = sender.try_send(sent);
            end!("queue.send.immediate");

            scenario::expect("items refused", u32::from(result.is_err()), 0);
            if receiver.try_recv().ok() != Some(Item::of(sample)) {
                scenario::fail_with("another item was received than sent in sample", sample);
            }
        }
        scenario::ok();
    }

    // queue.receive.immediate: an item is there.

    async fn receive(sender: &mut ItemSender, receiver: &mut ItemReceiver) {
        for sample in 0..SAMPLES {
            let sent = sender.try_send(Item::of(sample));
            scenario::expect("items refused", u32::from(sent.is_err()), 0);

            begin!("queue.receive.immediate");
            let received = receiver.recv().await;
            end!("queue.receive.immediate");

            expect_item(received.ok().as_ref(), sample);
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

    // queue.send.poll_full

    /// Sends items until there is no room.
    fn fill(sender: &mut ItemSender) {
        for number in 0..LENGTH as u32 {
            let sent = sender.try_send(Item::of(number));
            scenario::expect("items refused", u32::from(sent.is_err()), 0);
        }
    }

    fn full(sender: &mut ItemSender) {
        fill(sender);
        for sample in 0..SAMPLES {
            let sent = Item::of(sample);

            begin!("queue.send.poll_full");
            let result = sender.try_send(sent);
            end!("queue.send.poll_full");

            scenario::expect("items refused", u32::from(result.is_err()), 1);
        }
        scenario::ok();
    }

    // With a task of higher priority, which has one end of the queue.

    /// What `high` does.
    pub enum Part {
        Receive(ItemReceiver),
        Crowd(ItemSender),
    }

    static TIMES: Counter = Counter::new();

    #[task(priority = 2)]
    async fn high(_: high::Context, part: Part) {
        match part {
            Part::Receive(mut receiver) => receiving(&mut receiver).await,
            Part::Crowd(mut sender) => crowding(&mut sender).await,
        }
    }

    fn expect_item<const BYTES: usize>(received: Option<&Item<BYTES>>, sample: u32) {
        if received != Some(&Item::of(sample)) {
            scenario::fail_with("another item was received than sent in sample", sample);
        }
    }

    // queue.send.wake+ctx, queue.receive.blocking: the higher task receives, and waits for the
    // next item.

    async fn receiving(receiver: &mut ItemReceiver) {
        // The first time, nobody has sent anything yet.
        let mut received = receiver.recv().await.ok();
        loop {
            end!("queue.send.wake+ctx");
            expect_item(received.as_ref(), TIMES.increment());
            begin!("queue.receive.blocking");
            received = receiver.recv().await.ok();
        }
    }

    async fn send_wake() {
        let (mut sender, receiver) = make_channel!(Item<10>, LENGTH);
        let _ = high::spawn(Part::Receive(receiver));
        for sample in 1..=SAMPLES {
            let sent = Item::of(sample);

            begin!("queue.send.wake+ctx");
            let result = sender.send(sent).await;
            end!("queue.receive.blocking");

            scenario::expect("items refused", u32::from(result.is_err()), 0);
            scenario::expect("items received", TIMES.get(), sample);
        }
        scenario::ok();
    }

    // queue.receive.wake+ctx, queue.send.blocking: the higher task keeps the queue full, and
    // waits for room.

    async fn crowding(sender: &mut ItemSender) {
        fill(sender);
        let _ = sender.send(Item::of(LENGTH as u32)).await;
        loop {
            end!("queue.receive.wake+ctx");
            let sent = Item::of(LENGTH as u32 + TIMES.increment());
            begin!("queue.send.blocking");
            let _ = sender.send(sent).await;
        }
    }

    async fn receive_wake() {
        let (sender, mut receiver) = make_channel!(Item<10>, LENGTH);
        let _ = high::spawn(Part::Crowd(sender));
        for sample in 1..=SAMPLES {
            begin!("queue.receive.wake+ctx");
            let received = receiver.recv().await;
            end!("queue.send.blocking");

            scenario::expect("items sent", TIMES.get(), sample);
            expect_item(received.ok().as_ref(), sample - 1);
        }
        scenario::ok();
    }

    // queue.handover: two tasks of one priority, and a queue for each way.

    #[task(priority = 1)]
    async fn second(
        _: second::Context,
        mut receiver: ItemReceiver,
        mut answers: Sender<'static, Item<10>, 1>,
    ) {
        loop {
            let received = receiver.recv().await;
            end!("queue.handover");
            TIMES.increment();
            if let Ok(received) = received {
                let _ = answers.send(received).await;
            }
        }
    }

    async fn ask() {
        let (mut sender, receiver) = make_channel!(Item<10>, LENGTH);
        let (answer, mut answers) = make_channel!(Item<10>, 1);
        let _ = second::spawn(receiver, answer);
        for sample in 1..=SAMPLES {
            let sent = Item::of(sample);

            begin!("queue.handover");
            let result = sender.send(sent).await;
            let received = answers.recv().await;

            scenario::expect("items refused", u32::from(result.is_err()), 0);
            scenario::expect("items received", TIMES.get(), sample);
            expect_item(received.ok().as_ref(), sample);
        }
        scenario::ok();
    }

    // queue.send.<size>b, queue.receive.<size>b

    macro_rules! sized {
        ($name:ident, $size:literal, $send:literal, $receive:literal) => {
            async fn $name() {
                let (mut sender, mut receiver) = make_channel!(Item<$size>, 4);
                for sample in 0..SAMPLES {
                    let item = Item::of(sample);

                    begin!($send);
                    let result = sender.try_send(item);
                    end!($send);

                    begin!($receive);
                    let received = receiver.recv().await;
                    end!($receive);

                    scenario::expect("items refused", u32::from(result.is_err()), 0);
                    expect_item(received.ok().as_ref(), sample);
                }
                scenario::ok();
            }
        };
    }

    sized!(sized_4, 4, "queue.send.4b", "queue.receive.4b");
    sized!(sized_16, 16, "queue.send.16b", "queue.receive.16b");
    sized!(sized_64, 64, "queue.send.64b", "queue.receive.64b");
    sized!(sized_256, 256, "queue.send.256b", "queue.receive.256b");

    // queue.send.16b.unaligned

    async fn unaligned() {
        let (mut sender, mut receiver) = make_channel!([u8; 16], 4);
        for sample in 0..SAMPLES {
            let item = Odd::of(sample);

            begin!("queue.send.16b.unaligned");
            let result = sender.try_send(item.bytes);
            end!("queue.send.16b.unaligned");

            scenario::expect("items refused", u32::from(result.is_err()), 0);
            expect_item(receiver.recv().await.ok().map(Item).as_ref(), sample);
        }
        scenario::ok();
    }
}
