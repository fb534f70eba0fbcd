// SPDX-License-Identifier: MIT OR Apache-2.0
struct Outer {
    int first;
    struct Inner {
        int only_inner;
        int value;
    } inner;
    int value;
};

static_assert(__builtin_offsetof(Outer, value) == 12 && __builtin_offsetof(Outer::Inner, value) == 4);
Outer outer = { 1, { 2, 3 }, 4 };
