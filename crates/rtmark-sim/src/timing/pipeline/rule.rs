//! The rules of the pipeline model by name, so that each can be left out to see what it is worth.
//!
//! What the stages and ports are, the manuals say; a rule is what decides between them in a
//! cycle. Each one cites what shows it. `make silicon` prints for each how many measurements
//! change without it.

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident: $words:literal, $source:literal;)*) => {
        /// A rule of the pipeline model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Rule {
            $($(#[$doc])* $name,)*
        }

        impl Rule {
            /// Every rule there is.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// What it says, in a few words.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $words,)*
                }
            }

            /// What shows it: a manual's section, or measurements on chips.
            pub const fn source(self) -> &'static str {
                match self {
                    $(Self::$name => $source,)*
                }
            }
        }
    };
}

rules! {
    /// The fetch stage asks for a word for which there will be room once the decode stage has
    /// passed its instruction on.
    FetchOnCredit: "fetch ahead of room", "CC2650, CC2652, STM32F100";
    /// It does not while the execute stage keeps an instruction of several cycles.
    NoCreditBehindBusy: "no fetch ahead of a busy stage", "CC2650, CC2652, STM32F100";
    /// It does not while the decode stage waits for a register that an address is made of.
    NoCreditForAddress: "no fetch ahead of a waiting address", "CC2650, CC2652, STM32F100";
    /// Before r2p0, CBZ and CBNZ do not keep the stage busy.
    CompareBranchIsBusy: "CBZ is busy (r2)", "CC2650, CC2652 against STM32F100";
    /// A fetch that has been given up before its bus took the address makes way for another.
    GivenUpFetchYields: "given-up fetch makes way", "STM32F100; not so on CC2650, CC2652";

    /// An instruction of 16 bits takes an IT behind it along, if both are in the instruction
    /// register.
    ItFolding: "IT folding", "DDI 0337G, 18.2; CC2650, CC2652, STM32F100";
    /// BX LR and its kin branch in the execute stage when the instruction before writes LR.
    LinkRegisterLate: "branch to LR behind its write", "DDI 0337G, 15.3; CC2650, CC2652";
    /// A loaded register is there for an address in the cycle in which it arrives.
    LoadForwarding: "load to address", "DDI 0337G, 18.3; CC2650, CC2652, STM32F100";
    /// It is a cycle later when the load writes its base back.
    NoForwardingFromWriteBack: "write-back load to address", "CC2650, CC2652, STM32F100";
    /// It is a cycle later from an LDM of 16 bits.
    NoForwardingFromNarrowLdm: "16-bit LDM to address", "CC2650, CC2652, STM32F100";
    /// A base that is written back is there once the address is on the bus.
    BaseEarly: "base of a load or store", "DDI 0337G, 18.3; CC2650, CC2652, STM32F100";
    /// The base of a list of registers is there after the first cycle.
    ListBaseEarly: "base of a list", "CC2650, CC2652, STM32F100";
    /// The low word of a long product is there a cycle before the high one.
    LowWordEarly: "low word of a long product", "CC2650, STM32F100";
    /// MLA takes its addend a cycle late, from the high word of a long product.
    AccumulatorForwarding: "MLA behind a long product", "CC2650, STM32F100";

    /// The address of a load or store goes out while the data of the one before comes in.
    TransfersOverlap: "loads and stores overlap", "DDI 0337G, 18.3; CC2650, CC2652, STM32F100";
    /// Nothing follows a store whose offset is a register, or which writes its base back.
    IndexedStoreBlocks: "nothing behind an indexed store", "DDI 0337G, 18.3; CC2650, STM32F100";
    /// Nothing follows a load of the stack pointer.
    StackLoadBlocks: "nothing behind a load of SP", "CC2650, CC2652";
    /// Nothing that writes its base back follows.
    WriteBackWaits: "no write-back behind a transfer", "DDI 0337G, 18.3; CC2650, CC2652";
    /// Nothing follows while the bus waits.
    WaitingBusBlocks: "nothing behind a waiting transfer", "CC2650, CC2652";
    /// A NOP passes through beside a load or store.
    NopOverlaps: "NOP beside a transfer", "CC2650, CC2652, STM32F100";
    /// Not when it takes an IT along.
    FoldingNopWaits: "no NOP that folds an IT", "CC2650, STM32F100";
    /// So does an instruction that is passed over.
    SkippedOverlaps: "skipped instruction beside a transfer", "CC2650, CC2652, STM32F100";
    /// Not one of 16 bits with nothing behind it in the instruction register, unless it loads or
    /// stores.
    LoneSkippedWaits: "no lone skipped instruction", "CC2650";

    /// In the Code region data goes before code.
    DataBeforeCode: "data before code", "DDI 0337G, 12.4; CC2650, CC2652";
    /// A slow memory reads one line after the other.
    SlowReadKeepsBus: "one slow read at a time", "SWCU117, SWCU185, 7; CC2650, CC2652";
    /// A fetch whose address was on the bus while its memory waited goes first.
    WaitingFetchFirst: "waiting fetch first", "IHI 0033, 3.1; CC2650, CC2652";
    /// An address for another bus waits for the data on this one.
    BusSwitchWaits: "change of bus", "CC2650, CC2652, STM32F100";
    /// In the Code region a read behind a write to the same memory waits a cycle.
    CodeReadBehindWrite: "read behind write, Code", "CC2650 (GPRAM)";
    /// On the System bus a load behind a store waits for it.
    LoadBehindStore: "load behind store, System", "CC2650, CC2652, STM32F100";
    /// On the System bus a fetch behind a store waits for it.
    FetchBehindStore: "fetch behind store, System", "CC2650, CC2652, STM32F100";
    /// The store waits for the fetch in turn.
    StoreWaitsForFetch: "store before a waiting fetch", "CC2650, CC2652; not so on STM32F100";
    /// An access that the bus matrix converts, because it is unaligned or to the bit-band alias,
    /// keeps fetches off the System bus until the data port is idle, whichever bus it takes.
    ConvertedKeepsBus: "no fetch during a converted access", "DDI 0337G, 12.7, 12.10; CC2650, CC2652";
    /// Its data phase takes a cycle more where a fetch has its address on the System bus in the
    /// first cycle of it.
    ConvertedTurnsBack: "converted access against a fetch", "CC2650, CC2652";
}

/// The rules that are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LeftOut(u64);

const _: () = assert!(Rule::ALL.len() <= u64::BITS as usize);

impl LeftOut {
    /// One rule.
    pub const fn one(rule: Rule) -> Self {
        Self(1 << rule as u8)
    }

    /// Whether a rule is followed.
    pub const fn leaves(self, rule: Rule) -> bool {
        self.0 >> rule as u8 & 1 == 0
    }
}
