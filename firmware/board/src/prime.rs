//! The computation of `workload.prime.*`: the first ten primes from 0xFFFFFFF upward, by trial
//! division in 64 bits. How much work that is, is known; so every kernel that reports it has
//! done the same.

use rtmark_probe::scenario;

/// Where the search begins.
pub const START: u64 = 268_435_455;
/// What it finds.
pub const PRIMES: [u64; 10] = [
    268_435_459,
    268_435_463,
    268_435_493,
    268_435_523,
    268_435_537,
    268_435_561,
    268_435_577,
    268_435_579,
    268_435_597,
    268_435_631,
];
/// How many numbers it tests.
pub const NUMBERS: u32 = 177;
/// How many divisions it takes.
pub const DIVISIONS: u32 = 202_336;

/// What a search has found, and how much work it was.
#[derive(Debug, Default)]
pub struct Found {
    /// The primes.
    pub primes: [u64; PRIMES.len()],
    /// How many of them.
    pub count: u32,
    /// Numbers tested.
    pub numbers: u32,
    /// Divisions made.
    pub divisions: u32,
}

/// The first ten primes from [`START`] upward by trial division, with something to do for
/// each division. A macro, because it may be something to wait for, and then again may not.
#[macro_export]
macro_rules! prime_search {
    ($step:block) => {{
        let mut found = $crate::prime::Found::default();
        let mut n = $crate::prime::START;
        for place in &mut found.primes {
            loop {
                let mut is_prime = true;
                let mut i = 2;
                while i * i <= n {
                    found.divisions += 1;
                    $step
                    if n % i == 0 {
                        is_prime = false;
                        break;
                    }
                    i += 1;
                }
                found.numbers += 1;
                n += 1;
                if is_prime {
                    break;
                }
            }
            *place = n - 1;
            found.count += 1;
        }
        found
    }};
}

impl Found {
    /// Checks everything that the search counted and found.
    pub fn check(&self) {
        if self.primes != PRIMES {
            scenario::fail("these are not the primes");
        }
        scenario::expect("number of primes", self.count, PRIMES.len() as u32);
        scenario::expect("numbers tested", self.numbers, NUMBERS);
        scenario::expect("trial divisions", self.divisions, DIVISIONS);
    }

    /// What to say about it at the end.
    pub fn facts(&self) -> [(&'static str, u32); 4] {
        [
            ("primes", self.count),
            ("numbers", self.numbers),
            ("divisions", self.divisions),
            ("last", self.primes[PRIMES.len() - 1] as u32),
        ]
    }

    /// Checks the search and ends the run.
    pub fn done(&self) -> ! {
        self.check();
        scenario::ok_with(&self.facts());
    }

    /// Checks the search and the task that counted its yields, and ends the run.
    pub fn done_with(&self, counter: u32) -> ! {
        self.check();
        scenario::expect("counter", counter, DIVISIONS);
        let [primes, numbers, divisions, last] = self.facts();
        scenario::ok_with(&[primes, numbers, divisions, last, ("counter", counter)]);
    }
}
