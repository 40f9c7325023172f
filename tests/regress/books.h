// What a machine's trace says of where its time went.
#pragma once

#include <map>

#include "tests/unit/kernel/machine.h"

namespace ravelin::test {

struct Books {
    std::map<u64, u64> paid;  // by budget; 0: nobody
    std::map<abi::TraceCharge, u64> reason;
    std::map<u32, u64> hart;  // everything charged on it
};

inline Books books_of(const Machine& machine, u64 from = 0) {
    Books books;
    u64 place = 0;
    for (const abi::TraceRecord& record : machine.kernel.trace.records()) {
        if (place++ < from || record.kind != static_cast<u8>(abi::TraceKind::charge)) continue;
        books.paid[record.id] += record.x;
        books.reason[static_cast<abi::TraceCharge>(record.what)] += record.x;
        books.hart[record.hart] += record.x;
    }
    return books;
}

/// Gives every kind of the kernel's work a cost, each another.
inline void make_work_cost(Machine& machine) {
    for (unsigned kind = 0; kind < kWorkKinds; ++kind)
        machine.port.cost[kind] = {11 + 3 * kind};
}

}  // namespace ravelin::test
