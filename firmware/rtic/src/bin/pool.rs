//! A pool of blocks, as RTIC's book has messages in one ("Using indirection for faster message passing").

#![no_std]
#![no_main]

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW])]
mod app {
    use heapless::object_pool;
    use heapless::pool::object::ObjectBlock;
    use rtmark_probe::scenario::{self, SAMPLES};
    use rtmark_probe::{begin, end, scenarios};

    /// A block, which begins at a multiple of four as in every kernel.
    #[repr(align(4))]
    pub struct Block([u8; 64]);

    object_pool!(Pool: Block);

    #[shared]
    struct Shared {}

    #[local]
    struct Local {}

    #[init(local = [blocks: [ObjectBlock<Block>; 2] = [const { ObjectBlock::new(Block([0; 64])) }; 2]])]
    fn init(cx: init::Context) -> (Shared, Local) {
        rtmark_rtic::start(cx.core.SYST);
        for block in cx.local.blocks {
            Pool.manage(block);
        }
        let _ = run::spawn();
        (Shared {}, Local {})
    }

    #[task(priority = 1)]
    async fn run(_: run::Context) {
        scenarios! {
            "pool.take.64b" => take(),
            "pool.give.64b" => take(),
            "pool.take.empty" => take(),
        }
    }

    fn take() {
        let Some(held) = Pool.request() else {
            scenario::fail("the pool is empty");
        };
        for sample in 0..SAMPLES {
            begin!("pool.take.64b");
            let taken = Pool.request();
            end!("pool.take.64b");

            let Some(mut block) = taken else {
                scenario::fail("no block was given back");
            };
            scenario::expect("what was left in it", u32::from(block.0[63]), sample);
            block.0[63] += 1;

            begin!("pool.take.empty");
            let another = Pool.request();
            end!("pool.take.empty");

            scenario::expect("blocks taken of an empty pool", u32::from(another.is_some()), 0);

            begin!("pool.give.64b");
            drop(block);
            end!("pool.give.64b");
        }
        drop(held);
        scenario::ok();
    }
}
