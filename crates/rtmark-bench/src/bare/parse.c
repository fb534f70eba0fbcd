/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reads JSON into a tree by descent, and sums what it finds. */
#include "bare.h"

enum kind { NUMBER, TEXT, LIST, OBJECT, WORD };

struct value {
    enum kind kind;
    int32_t number;
    struct value *first, *next;
    const char *key;
};

static struct value values[96];
static unsigned used;
static const char *at;

static const char document[] =
    "{\"name\": \"sensor\", \"id\": 1734, \"on\": true, \"limits\": [-40, 125, [1, 2, 3], {}],"
    " \"log\": [{\"t\": 100, \"v\": -7, \"note\": \"cold\"}, {\"t\": 200, \"v\": 21, \"note\": null},"
    " {\"t\": 300, \"v\": 1250, \"note\": \"a \\\"hot\\\" one\"}], \"next\": {\"in\": 60, \"of\":"
    " {\"unit\": \"s\", \"every\": [10, 20, 30, 40, 50, 60]}}, \"crc\": 48879}";

static void blank(void)
{
    while (*at == ' ' || *at == '\n') {
        at++;
    }
}

static void text(void)
{
    for (at++; *at != '"'; at++) {
        if (*at == '\\') {
            at++;
        }
    }
    at++;
}

static struct value *read(void)
{
    struct value *value = &values[used++];
    if (used == sizeof values / sizeof values[0]) {
        failed();
    }
    *value = (struct value){.kind = WORD};
    blank();
    switch (*at) {
    case '{':
    case '[': {
        struct value **place = &value->first;
        value->kind = *at == '{' ? OBJECT : LIST;
        at++;
        for (blank(); *at != '}' && *at != ']'; blank()) {
            const char *key = at;
            if (value->kind == OBJECT) {
                text();
                blank();
                at++;
            }
            *place = read();
            (*place)->key = key;
            place = &(*place)->next;
            blank();
            if (*at == ',') {
                at++;
                blank();
            }
        }
        at++;
        break;
    }
    case '"':
        value->kind = TEXT;
        value->key = at;
        text();
        break;
    case '-':
    case '0' ... '9': {
        int negative = *at == '-';
        value->kind = NUMBER;
        for (at += negative; *at >= '0' && *at <= '9'; at++) {
            value->number = value->number * 10 + (*at - '0');
        }
        value->number = negative ? -value->number : value->number;
        break;
    }
    default:
        while (*at >= 'a' && *at <= 'z') {
            value->number = value->number * 31 + *at++;
        }
    }
    return value;
}

static int32_t sum(const struct value *value)
{
    int32_t all = 0;
    for (; value; value = value->next) {
        all += value->number + (int32_t)value->kind + sum(value->first);
    }
    return all;
}

void program(void)
{
    int32_t all = 0;
    for (unsigned round = 0; round < 3000; round++) {
        used = 0;
        at = document;
        all += sum(read());
    }
    keep((uint32_t)all);
}
