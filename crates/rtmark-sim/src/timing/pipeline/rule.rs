//! The rules of the pipeline model by name, so that each can be left out to measure its effect.
//!
//! The manuals describe the stages and ports; a rule decides between them in a cycle. Each rule
//! cites its evidence. For each one, `make silicon` prints how many measurements change without it.

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident: $words:literal, $source:literal;)*) => {
        /// A rule of the pipeline model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Rule {
            $($(#[$doc])* $name,)*
        }

        impl Rule {
            /// All rules.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns the rule's name, a summary in a few words.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $words,)*
                }
            }

            /// Returns the rule's evidence: a manual's section, or measurements on chips.
            pub const fn source(self) -> &'static str {
                match self {
                    $(Self::$name => $source,)*
                }
            }
        }
    };
}

rules! {
    /// The fetch stage requests a word for which there will be room once the decode stage has
    /// passed its instruction on.
    FetchOnCredit: "fetch ahead of room", "CC2650, CC2652, STM32F100";
    /// The fetch stage does not fetch ahead of room while an instruction of several cycles occupies
    /// the execute stage.
    NoCreditBehindBusy: "no fetch ahead of a busy stage", "CC2650, CC2652, STM32F100";
    /// The fetch stage does not fetch ahead of room while the decode stage waits for a register of
    /// an address.
    NoCreditForAddress: "no fetch ahead of a waiting address", "CC2650, CC2652, STM32F100";
    /// While CBZ or CBNZ occupies the execute stage, the fetch stage does not fetch ahead of room
    /// either, except before r2p0. Over the System bus, which sees fetches a cycle later (DDI 0337G,
    /// 12.5), it does not while one is ready in the decode stage.
    CompareBranchIsBusy: "CBZ is busy (r2)", "CC2650, CC2652 against STM32F100";
    /// A fetch that was given up while it waits for the System bus, behind the register, makes way
    /// for another, on whichever bus.
    GivenUpFetchYields: "given-up fetch makes way", "STM32F100; not so on CC2650, CC2652";

    /// A 16-bit instruction folds the IT that follows it, if both are in the instruction register.
    ItFolding: "IT folding", "DDI 0337G, 18.2; CC2650, CC2652, STM32F100";
    /// An instruction in an IT block does not fold the IT that follows the block.
    BlockDoesNotFold: "no folding in an IT block", "STM32F100, CC2650";
    /// BX LR and similar instructions branch in the execute stage if the previous instruction
    /// writes LR.
    LinkRegisterLate: "branch to LR behind its write", "DDI 0337G, 15.3; CC2650, CC2652";
    /// They do so as well if one instruction stands between, behind a load of LR and any number of
    /// further loads and stores. Measured with LDR alone; that other transfers behave alike is assumed.
    LoadedLinkLater: "branch to LR behind its load", "CC2650, CC2652";
    /// A loaded register is available for an address in the cycle in which it arrives.
    LoadForwarding: "load to address", "DDI 0337G, 18.3; CC2650, CC2652, STM32F100";
    /// A loaded register is available for an address one cycle later if the load writes its base
    /// back.
    NoForwardingFromWriteBack: "write-back load to address", "CC2650, CC2652, STM32F100";
    /// A register loaded by a 16-bit LDM is available for an address one cycle later.
    NoForwardingFromNarrowLdm: "16-bit LDM to address", "CC2650, CC2652, STM32F100";
    /// A base register that is written back is available once the address is on the bus.
    BaseEarly: "base of a load or store", "DDI 0337G, 18.3; CC2650, CC2652, STM32F100";
    /// The base register of a register list is available after the first cycle.
    ListBaseEarly: "base of a list", "CC2650, CC2652, STM32F100";
    /// The low word of a long product is available one cycle before the high one.
    LowWordEarly: "low word of a long product", "CC2650, STM32F100";
    /// MLA takes its addend one cycle late if it is the high word of a long product.
    AccumulatorForwarding: "MLA behind a long product", "CC2650, STM32F100";

    /// The address of a load or store goes out while the data of the previous one is transferred.
    TransfersOverlap: "loads and stores overlap", "DDI 0337G, 18.3; CC2650, CC2652, STM32F100";
    /// Nothing overlaps a store whose offset is a register, or which writes its base back.
    IndexedStoreBlocks: "nothing behind an indexed store", "DDI 0337G, 18.3; CC2650, STM32F100";
    /// Nothing overlaps a load of the stack pointer.
    StackLoadBlocks: "nothing behind a load of SP", "CC2650, CC2652";
    /// An instruction that writes its base back does not overlap a load or store before it.
    WriteBackWaits: "no write-back behind a transfer", "DDI 0337G, 18.3; CC2650, CC2652";
    /// Nothing overlaps a load or store while its bus waits.
    WaitingBusBlocks: "nothing behind a waiting transfer", "CC2650, CC2652";
    /// A NOP passes through beside a load or store.
    NopOverlaps: "NOP beside a transfer", "CC2650, CC2652, STM32F100";
    /// A NOP that folds an IT does not pass through beside a load or store, except before r2p0.
    FoldingNopWaits: "no NOP that folds an IT (r2)", "CC2650; not so on STM32F100";
    /// An instruction whose condition fails passes through beside a load or store.
    SkippedOverlaps: "skipped instruction beside a transfer", "CC2650, CC2652, STM32F100";
    /// A skipped 16-bit instruction with nothing after it in the instruction register does not pass
    /// through, unless it is a load or store.
    LoneSkippedWaits: "no lone skipped instruction", "CC2650";

    /// In the Code region, data accesses go before fetches.
    DataBeforeCode: "data before code", "DDI 0337G, 12.4; CC2650, CC2652";
    /// A slow memory reads one line at a time.
    SlowReadKeepsBus: "one slow read at a time", "SWCU117, SWCU185, 7; CC2650, CC2652";
    /// A fetch whose address was on the bus while its memory waited goes first.
    WaitingFetchFirst: "waiting fetch first", "IHI 0033, 3.1; CC2650, CC2652";
    /// An address for one bus waits for the data on another one.
    BusSwitchWaits: "change of bus", "CC2650, CC2652, STM32F100";
    /// The address of a fetch for one bus waits for the end of the fetch on the other one, as that
    /// of a data access does.
    FetchBusSwitchWaits: "change of bus, fetches", "CC2650, CC2652, STM32F100";
    /// In the Code region, a read after a write to the same memory waits one cycle.
    CodeReadBehindWrite: "read behind write, Code", "CC2650 (GPRAM)";
    /// On the System bus, a load after a store waits for it.
    LoadBehindStore: "load behind store, System", "CC2650, CC2652, STM32F100";
    /// On the System bus, a fetch after a store waits for it.
    FetchBehindStore: "fetch behind store, System", "CC2650, CC2652, STM32F100";
    /// On the System bus, a store waits in turn for the fetch that waits for it.
    StoreWaitsForFetch: "store before a waiting fetch", "CC2650, CC2652; not so on STM32F100";
    /// On the System bus, stores that follow each other without a gap pass the fetch that waits for them,
    /// from the third on. It goes one cycle after the last of them.
    StoresPassFetch: "stores before a waiting fetch", "STM32F100; not so on CC2650, CC2652";
    /// An access that the bus matrix converts, because it is unaligned or to the bit-band alias,
    /// keeps fetches off the System bus from its address on until the data port is idle, whichever
    /// bus the access uses.
    ConvertedKeepsBus: "no fetch during a converted access", "DDI 0337G, 12.7, 12.10; CC2650, CC2652";
    /// The address of a converted access waits for the end of a fetch on the System bus.
    ConvertedBehindFetch: "converted access behind a fetch", "CC2650, CC2652";
    /// Fetches wait for one idle cycle behind a converted access that no other access follows, like
    /// the one that IHI 0033, 3.3, recommends behind a locked transfer.
    ConvertedLingers: "idle cycle behind a converted access", "CC2650, CC2652";
    /// While the bus writes the word of a bit that it has read and changed, the core goes on, as long as
    /// it does not need the bus.
    BitIsWrittenBehind: "bit written behind the core", "DDI 0337G, 12.10; CC2650, CC2652";
    /// On a Cortex-M4, a write to the bit-band alias takes one cycle more if its address is presented during
    /// another transfer on the System bus, unless that writes a bit, too.
    BitBehindTransfer: "bit behind a transfer (M4)", "CC2652; not so on CC2650";
}

/// The rules that are left out of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DisabledRules(u64);

const _: () = assert!(Rule::ALL.len() <= u64::BITS as usize);

impl DisabledRules {
    /// Leaves out one rule.
    pub const fn only(rule: Rule) -> Self {
        Self(1 << rule as u8)
    }

    /// Returns whether a rule is kept.
    pub const fn includes(self, rule: Rule) -> bool {
        self.0 >> rule as u8 & 1 == 0
    }
}
