//! Lists of numbers as the build hands them on, in text.

/// Calls `write` with each `address=value` of a list that commas part.
pub(crate) fn each_write(list: &str, mut write: impl FnMut(u32, u32)) {
    let mut words = list.bytes();
    let mut address = 0;
    let mut number = 0;
    loop {
        match words.next() {
            Some(b'=') => (address, number) = (number, 0),
            Some(b',') | None => {
                if address != 0 {
                    write(address, number);
                }
                if words.len() == 0 {
                    return;
                }
                (address, number) = (0, 0);
            }
            Some(b'x') => number = 0,
            Some(digit) => {
                let digit = (digit as char).to_digit(16).unwrap_or_default();
                number = number << 4 | digit;
            }
        }
    }
}

/// The number at a place of such a list.
#[cfg(rtmark_uart)]
pub(crate) fn number(list: &str, at: usize) -> u32 {
    let word = list.split(',').nth(at).unwrap_or_default();
    word.bytes()
        .skip(2)
        .fold(0, |number, digit| number << 4 | (digit as char).to_digit(16).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_read_in_order() {
        let mut seen = [(0, 0); 3];
        let mut count = 0;
        each_write("0xe000e014=0xffffff,0x10=0x0,0x20=0x7", |address, value| {
            seen[count] = (address, value);
            count += 1;
        });
        assert_eq!(seen, [(0xe000_e014, 0xff_ffff), (0x10, 0), (0x20, 7)]);
        each_write("", |_, _| panic!("there is none"));
    }
}
