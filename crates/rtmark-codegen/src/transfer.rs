//! The translation of loads and stores, which check each address before anything changes.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};

use crate::Memory;
use crate::native::context;
use crate::operation::{Address, Datum, List, Offset, Part, Register, STACK_POINTER, WriteBack};
use crate::translate::{Translation, trusted};

/// Accesses to the memory, within its bounds.
const fn checked() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

impl Translation<'_, '_> {
    /// Returns an address, and what its base becomes.
    fn address(&mut self, address: Address) -> (Value, Option<Value>) {
        let base = self.get(address.base);
        let sum = match address.offset {
            Offset::Immediate(0) => base,
            Offset::Immediate(by) => {
                let by = self.constant(by);
                self.builder.ins().iadd(base, by)
            }
            Offset::Register(register, shift) => {
                let index = self.get(register);
                let by = self.builder.ins().ishl_imm_u(index, i64::from(shift));
                self.builder.ins().iadd(base, by)
            }
        };
        match address.write_back {
            WriteBack::Never => (sum, None),
            WriteBack::Before => (sum, Some(sum)),
            WriteBack::After => (base, Some(sum)),
        }
    }

    fn write_back(&mut self, register: Register, value: Option<Value>) {
        if let Some(value) = value {
            self.set(register, value);
        }
    }

    /// Returns a host's pointer to `count` words at an address; leaves if they are not all in memory.
    fn words(
        &mut self,
        at: Value,
        count: u32,
        base: Register,
        offset: Offset,
        number: u32,
    ) -> Value {
        let aligned =
            base == STACK_POINTER && matches!(offset, Offset::Immediate(by) if by & 3 == 0);
        self.pointer(at, 4 * count, if aligned { 1 } else { 4 }, number)
    }

    /// Returns a host's pointer to `bytes` bytes at an address; leaves if they are not all in memory, or not
    /// aligned.
    fn pointer(&mut self, at: Value, bytes: u32, align: u32, number: u32) -> Value {
        let Memory { base, bytes: size, .. } = self.memory;
        let b = &mut *self.builder;
        let offset = b.ins().iadd_imm_s(at, i64::from((base as i32).wrapping_neg()));
        // A rotation moves the bits that must be zero to the top.
        let bits = align.trailing_zeros();
        let units = if bits == 0 { offset } else { b.ins().rotr_imm_u(offset, i64::from(bits)) };
        let most = (size - bytes) >> bits;
        let beyond = b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, units, i64::from(most));
        self.leave_if(beyond, number);
        let b = &mut *self.builder;
        let offset = b.ins().uextend(types::I64, offset);
        b.ins().iadd(self.arguments.memory, offset)
    }

    /// Leaves if a store to an address may change code.
    fn expect_no_code(&mut self, at: Value, bytes: u32, number: u32) {
        if !self.memory.holds_code {
            return;
        }
        let context = self.arguments.context;
        let b = &mut *self.builder;
        let low = b.ins().load(types::I32, trusted(), context, context::CODE_LOW);
        let length = b.ins().load(types::I32, trusted(), context, context::CODE_BYTES);
        let offset = b.ins().isub(at, low);
        let last = b.ins().iadd_imm_u(offset, i64::from(bytes) - 1);
        let limit = b.ins().iadd_imm_u(length, i64::from(bytes) - 1);
        let covers = b.ins().icmp(IntCC::UnsignedLessThan, last, limit);
        self.leave_if(covers, number);
    }

    pub fn load(&mut self, datum: Datum, to: Register, address: Address, number: u32) {
        let (at, base) = self.address(address);
        let value = match datum {
            Datum::Word => {
                let pointer = self.words(at, 1, address.base, address.offset, number);
                self.builder.ins().load(types::I32, checked(), pointer, 0)
            }
            Datum::Part(part) => {
                let size = size_of_part(part);
                let pointer = self.pointer(at, size, size, number);
                let b = &mut *self.builder;
                match part {
                    Part::UnsignedByte => b.ins().uload8(types::I32, checked(), pointer, 0),
                    Part::SignedByte => b.ins().sload8(types::I32, checked(), pointer, 0),
                    Part::UnsignedHalf => b.ins().uload16(types::I32, checked(), pointer, 0),
                    Part::SignedHalf => b.ins().sload16(types::I32, checked(), pointer, 0),
                }
            }
        };
        self.write_back(address.base, base);
        self.set(to, value);
    }

    pub fn store(&mut self, datum: Datum, from: Register, address: Address, number: u32) {
        let (at, base) = self.address(address);
        let value = self.get(from);
        match datum {
            Datum::Word => {
                self.expect_no_code(at, 4, number);
                let pointer = self.words(at, 1, address.base, address.offset, number);
                self.builder.ins().store(checked(), value, pointer, 0);
            }
            Datum::Part(part) => {
                let size = size_of_part(part);
                self.expect_no_code(at, size, number);
                let pointer = self.pointer(at, size, size, number);
                let b = &mut *self.builder;
                if size == 1 {
                    b.ins().istore8(checked(), value, pointer, 0);
                } else {
                    b.ins().istore16(checked(), value, pointer, 0);
                }
            }
        }
        self.write_back(address.base, base);
    }

    pub fn load_pair(&mut self, to: [Register; 2], address: Address, number: u32) {
        let (at, base) = self.address(address);
        let pointer = self.words(at, 2, address.base, address.offset, number);
        let values = [0, 4].map(|by| self.builder.ins().load(types::I32, checked(), pointer, by));
        self.set(to[0], values[0]);
        self.set(to[1], values[1]);
        self.write_back(address.base, base);
    }

    pub fn store_pair(&mut self, from: [Register; 2], address: Address, number: u32) {
        let (at, base) = self.address(address);
        let values = from.map(|register| self.get(register));
        self.expect_no_code(at, 8, number);
        let pointer = self.words(at, 2, address.base, address.offset, number);
        for (by, value) in [0, 4].into_iter().zip(values) {
            self.builder.ins().store(checked(), value, pointer, by);
        }
        self.write_back(address.base, base);
    }

    /// Returns the address of a list's first word, and what its base becomes.
    fn list(&mut self, list: List, words: u32) -> (Value, Value) {
        let base = self.get(list.base);
        let by = i64::from(4 * words);
        if list.before {
            let start = self.builder.ins().iadd_imm_s(base, -by);
            (start, start)
        } else {
            (base, self.builder.ins().iadd_imm_s(base, by))
        }
    }

    pub fn load_list(&mut self, list: List, then: Option<u32>, number: u32) {
        let count = list.registers.count_ones();
        let words = count + u32::from(then.is_some());
        let (start, moved) = self.list(list, words);
        let pointer = self.words(start, words, list.base, Offset::Immediate(0), number);
        if let Some(value) = then {
            let b = &mut *self.builder;
            let last = b.ins().load(types::I32, checked(), pointer, 4 * count as i32);
            let value = b.ins().iconst(types::I32, i64::from(value));
            let holds = b.ins().icmp(IntCC::Equal, last, value);
            self.expect(holds, number);
        }
        let mut offset = 0;
        for register in (0..15).filter(|register| list.registers >> register & 1 == 1) {
            let value = self.builder.ins().load(types::I32, checked(), pointer, offset);
            self.set(register, value);
            offset += 4;
        }
        if list.write_back && list.registers >> list.base & 1 == 0 {
            self.set(list.base, moved);
        }
    }

    pub fn store_list(&mut self, list: List, number: u32) {
        let words = list.registers.count_ones();
        let (start, moved) = self.list(list, words);
        self.expect_no_code(start, 4 * words, number);
        let pointer = self.words(start, words, list.base, Offset::Immediate(0), number);
        let mut offset = 0;
        for register in (0..15).filter(|register| list.registers >> register & 1 == 1) {
            let value = self.get(register);
            self.builder.ins().store(checked(), value, pointer, offset);
            offset += 4;
        }
        if list.write_back {
            self.set(list.base, moved);
        }
    }
}

const fn size_of_part(part: Part) -> u32 {
    match part {
        Part::UnsignedByte | Part::SignedByte => 1,
        Part::UnsignedHalf | Part::SignedHalf => 2,
    }
}
