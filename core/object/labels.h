// Label sets: what the information in a budget is about (R1). Sorted, without repeats, fixed when
// the budget is made; a child has at least its parent's.
//
// Bound: each function reads both sets once, 16 labels at most.
#pragma once

#include "core/abi/limits.h"
#include "core/types.h"

namespace ravelin {

struct LabelSet {
    u32 count = 0;
    u64 at[abi::kMaxLabels] = {};

    bool empty() const { return count == 0; }

    bool operator==(const LabelSet& other) const {
        if (count != other.count) return false;
        for (u32 place = 0; place < count; ++place) {
            if (at[place] != other.at[place]) return false;
        }
        return true;
    }

    /// Whether every label is in `other` too: information with these labels may go to a holder of
    /// those.
    bool within(const LabelSet& other) const {
        u32 place = 0;
        for (u32 own = 0; own < count; ++own) {
            while (place < other.count && other.at[place] < at[own])
                ++place;
            if (place == other.count || other.at[place] != at[own]) return false;
        }
        return true;
    }

    /// Puts a label in its place; one that is there already changes nothing. There is room.
    void add(u64 label) {
        u32 place = count;
        while (place != 0 && at[place - 1] > label)
            --place;
        if (place != 0 && at[place - 1] == label) return;
        for (u32 move = count; move > place; --move)
            at[move] = at[move - 1];
        at[place] = label;
        ++count;
    }
};

}  // namespace ravelin
