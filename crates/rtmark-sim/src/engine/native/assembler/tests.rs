//! What is written, read by another decoder.

use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};

use super::*;

const FAR: Field = Field(-0x1234);
const NEAR: Field = Field(0x40);

/// Returns the instructions that another decoder reads.
fn read(write: impl FnOnce(&mut Assembler)) -> String {
    let mut asm = Assembler::default();
    write(&mut asm);
    let code = asm.finish().expect("all labels are bound");
    let mut formatter = IntelFormatter::new();
    let mut texts = Vec::new();
    for instruction in &mut Decoder::with_ip(64, &code, 0, DecoderOptions::NONE) {
        assert!(!instruction.is_invalid(), "{code:02x?}");
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        texts.push(text);
    }
    texts.join("; ")
}

macro_rules! reads {
    ($($expected:literal = |$asm:ident| $($write:expr),+;)*) => {
        $(assert_eq!(read(|$asm| { $($write;)+ }), $expected);)*
    };
}

#[test]
fn another_decoder_reads_what_is_written() {
    use Alu::{Adc, Add, And, Cmp, Or, Sbb, Sub, Xor};
    let (near, far) = (Operand::Field(NEAR), Operand::Field(FAR));
    let reg = Operand::Reg;
    reads! {
        "mov eax,r9d" = |asm| asm.mov(Reg::RAX, reg(Reg::R9));
        "mov r11d,edx" = |asm| asm.mov(Reg::R11, reg(Reg::RDX));
        "" = |asm| asm.mov(Reg::R8, reg(Reg::R8));
        "mov r8d,[rdi+40h]" = |asm| asm.mov(Reg::R8, near);
        "mov edx,[rdi-1234h]" = |asm| asm.mov(Reg::RDX, far);
        "mov ecx,89ABCDEFh" = |asm| asm.mov_immediate(Reg::RCX, 0x89AB_CDEF);
        "mov r10d,1" = |asm| asm.mov_immediate(Reg::R10, 1);
        "mov [rdi+40h],r10d" = |asm| asm.store(NEAR, Reg::R10);
        "mov [rdi-1234h],rax" = |asm| asm.store_wide(FAR, Reg::RAX);
        "mov byte ptr [rdi+40h],1" = |asm| asm.store_byte(NEAR, 1);
        "add eax,ecx; or ecx,r8d" =
            |asm| asm.alu(Add, Reg::RAX, reg(Reg::RCX)), asm.alu(Or, Reg::RCX, reg(Reg::R8));
        "adc eax,[rdi+40h]; sbb eax,edx" =
            |asm| asm.alu(Adc, Reg::RAX, near), asm.alu(Sbb, Reg::RAX, reg(Reg::RDX));
        "and r9d,r11d; sub eax,r10d; xor eax,eax" =
            |asm| asm.alu(And, Reg::R9, reg(Reg::R11)), asm.alu(Sub, Reg::RAX, reg(Reg::R10)),
            asm.alu(Xor, Reg::RAX, reg(Reg::RAX));
        "mov dword ptr [rdi-1234h],89ABCDEFh; mov dword ptr [rdi+40h],0" =
            |asm| asm.store_immediate(FAR, 0x89AB_CDEF), asm.store_first_link(NEAR);
        "mov rcx,[rdi+40h]; mov rax,[rcx+18h]; cmp rcx,[rdi-1234h]" =
            |asm| asm.load_wide(Reg::RCX, NEAR), asm.load_link(Reg::RAX, Reg::RCX, 3), asm.alu_wide(Cmp, Reg::RCX, FAR);
        "mov rax,[r11+8]; cmp rcx,[r11]; add r11,r10" =
            |asm| asm.load_link(Reg::RAX, Reg::R11, 1), asm.compare_link(Reg::RCX, Reg::R11, 0),
            asm.add_wide_register(Reg::R11, Reg::R10);
        "add qword ptr [rdi+40h],7Fh; add rcx,80h; test rax,rax; jmp rax" =
            |asm| asm.add_wide(near, 127), asm.add_wide(reg(Reg::RCX), 128), asm.test_wide(Reg::RAX),
            asm.jump_to(Reg::RAX);
        "cmp ecx,[rdi-1234h]" = |asm| asm.alu(Cmp, Reg::RCX, far);
        "cmp eax,0FFFFFF80h; add r9d,7Fh" =
            |asm| asm.alu_immediate(Cmp, reg(Reg::RAX), 0xFFFF_FF80),
            asm.alu_immediate(Add, reg(Reg::R9), 127);
        "sub eax,80h; cmp dword ptr [rdi+40h],0" =
            |asm| asm.alu_immediate(Sub, reg(Reg::RAX), 128), asm.alu_immediate(Cmp, near, 0);
        "cmp qword ptr [rdi+40h],7FFFFFFFh" = |asm| asm.compare_wide(NEAR, 0x7FFF_FFFF);
        "cmp byte ptr [rdi-1234h],1" = |asm| asm.compare_byte(FAR, 1);
        "cmp word ptr [rdi-1234h],0" = |asm| asm.compare_half(FAR, 0);
        "test r8d,r8d; test edx,edx" = |asm| asm.test(Reg::R8), asm.test(Reg::RDX);
        "test al,1; test cl,0C0h" = |asm| asm.test_byte(Reg::RAX, 1), asm.test_byte(Reg::RCX, 0xC0);
        "test byte ptr [rdi-1234h],2" = |asm| asm.test_field(FAR, 2);
        "cmc; ret" = |asm| asm.complement_carry(), asm.ret();
        "not eax; not r9d" = |asm| asm.unary(Unary::Not, Reg::RAX), asm.unary(Unary::Not, Reg::R9);
        "imul eax,r11d; imul ecx,[rdi+40h]" =
            |asm| asm.multiply(Reg::RAX, reg(Reg::R11)), asm.multiply(Reg::RCX, near);
        "imul rax,rcx; movsxd rcx,r9d; div ecx" =
            |asm| asm.multiply_wide(Reg::RAX, Reg::RCX), asm.extend_sign(Reg::RCX, Reg::R9), asm.divide(Reg::RCX);
        "mov r11,[r10+1234h]; mov [rcx],rax; inc qword ptr [rax+80h]" =
            |asm| asm.load_wide_at(Reg::R11, Reg::R10, 0x1234), asm.store_wide_at(Reg::RCX, 0, Reg::RAX),
            asm.increment_wide_at(Reg::RAX, 128);
        "cmp dword ptr [rax+8],89ABCDEFh; movzx ecx,byte ptr [rax+0Ch]; lea rcx,[rax+rcx*8+1234h]" =
            |asm| asm.compare_at(Reg::RAX, 8, 0x89AB_CDEF), asm.load_byte_at(Reg::RCX, Reg::RAX, 12),
            asm.address_of_eighth(0x1234);
        "ror eax,2; shl r8d,1Fh; shr ecx,7; sar edx,1" =
            |asm| asm.shift(Shift::Ror, Reg::RAX, 2), asm.shift(Shift::Shl, Reg::R8, 31),
            asm.shift(Shift::Shr, Reg::RCX, 7), asm.shift(Shift::Sar, Reg::RDX, 1);
        "shl rax,20h; sar rax,cl; shr rax,cl" =
            |asm| asm.shift_wide(Shift::Shl, Reg::RAX, 32), asm.shift_wide_by_rcx(Shift::Sar, Reg::RAX),
            asm.shift_wide_by_rcx(Shift::Shr, Reg::RAX);
        "ror eax,cl; bsr ecx,r9d; cmove ecx,eax" =
            |asm| asm.rotate_by_rcx(Reg::RAX), asm.highest_bit(Reg::RCX, Reg::R9),
            asm.mov_if(Cond::EQUAL, Reg::RCX, Reg::RAX);
        "bt rax,20h" = |asm| asm.test_bit_wide(Reg::RAX, 32);
        "lea eax,[r9+1000h]; lea ecx,[rdx-4]; lea eax,[rax]" =
            |asm| asm.add_offset(Reg::RAX, Reg::R9, 0x1000), asm.add_offset(Reg::RCX, Reg::RDX, !3),
            asm.add_offset(Reg::RAX, Reg::RAX, 0);
        "movsx eax,r8b; movzx ecx,dl; movsx eax,ax; movzx eax,r11w" =
            |asm| asm.extend(Reg::RAX, Reg::R8, Datum::SIGNED_BYTE), asm.extend(Reg::RCX, Reg::RDX, Datum::UNSIGNED_BYTE),
            asm.extend(Reg::RAX, Reg::RAX, Datum::SIGNED_HALF), asm.extend(Reg::RAX, Reg::R11, Datum::UNSIGNED_HALF);
        "bswap eax; bswap r9d" = |asm| asm.swap_bytes(Reg::RAX), asm.swap_bytes(Reg::R9);
        "setb [rdi+40h]; seto cl" =
            |asm| asm.set_field(Cond::BELOW, NEAR), asm.set(Cond::OVERFLOW, Reg::RCX);
        "mov eax,[rsi+rax*4]; mov r8d,[rsi+rax*4+3Ch]" =
            |asm| asm.load_datum(Reg::RAX, Datum::WORD, 2, 0), asm.load_datum(Reg::R8, Datum::WORD, 2, 60);
        "movzx eax,word ptr [rsi+rax*2]; movsx eax,byte ptr [rsi+rax]" =
            |asm| asm.load_datum(Reg::RAX, Datum::UNSIGNED_HALF, 1, 0), asm.load_datum(Reg::RAX, Datum::SIGNED_BYTE, 0, 0);
        "mov eax,[rcx+rax*4]; movsx eax,word ptr [rcx+rax*2]; movzx eax,byte ptr [rcx+rax]" =
            |asm| asm.load_code_datum(Reg::RAX, Datum::WORD, 2), asm.load_code_datum(Reg::RAX, Datum::SIGNED_HALF, 1),
            asm.load_code_datum(Reg::RAX, Datum::UNSIGNED_BYTE, 0);
        "mov [rsi+rax*4],r9d; mov [rsi+rax*2],r9w; mov [rsi+rax],dl" =
            |asm| asm.store_datum(Reg::R9, Datum::WORD, 2, 0), asm.store_datum(Reg::R9, Datum::UNSIGNED_HALF, 1, 0),
            asm.store_datum(Reg::RDX, Datum::UNSIGNED_BYTE, 0, 0);
    }
}

#[test]
fn conditions_and_their_inverses_have_their_names() {
    let all = [
        (Cond::OVERFLOW, "jo", "jno"),
        (Cond::BELOW, "jb", "jae"),
        (Cond::NOT_BELOW, "jae", "jb"),
        (Cond::EQUAL, "je", "jne"),
        (Cond::NOT_EQUAL, "jne", "je"),
        (Cond::ABOVE, "ja", "jbe"),
        (Cond::SIGN, "js", "jns"),
        (Cond::NOT_LESS, "jge", "jl"),
        (Cond::GREATER, "jg", "jle"),
    ];
    for (cond, name, inverse) in all {
        for (cond, name) in [(cond, name), (cond.inverse(), inverse)] {
            let written = read(|asm| {
                let there = asm.label();
                asm.jump_if(cond, there);
                asm.ret();
                asm.bind(there);
                asm.jump(there);
            });
            assert_eq!(written, format!("{name} 7; ret; jmp 7"));
        }
    }
}

#[test]
fn code_with_a_jump_to_nowhere_is_none() {
    let mut asm = Assembler::default();
    let nowhere = asm.label();
    asm.jump(nowhere);
    assert_eq!(asm.finish(), None);
}
