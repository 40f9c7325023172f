// Intrusive lists and bit sets: the kernel's only containers. A list's links lie in its members'
// own pages, so that no party can exhaust a list for another. Bound: every operation on a list is
// constant time; next() of a set reads its words once.
#pragma once

#include <bit>

#include "core/types.h"

namespace ravelin {

/// A member's place in one list. Not in a list when `next` is null.
struct Link {
    Link* next = nullptr;
    Link* previous = nullptr;
    void* owner = nullptr;

    bool linked() const { return next != nullptr; }
};

/// A list of T, oldest first, through a link that the caller names: one link serves every list its
/// owner can be on at one time.
template <class T>
class List {
  public:
    bool empty() const { return first_ == nullptr; }
    T* first() const { return owner(first_); }
    T* last() const { return first_ == nullptr ? nullptr : owner(first_->previous); }

    /// The member after the one whose link this is; null at the end.
    T* after(const Link& link) const { return link.next == first_ ? nullptr : owner(link.next); }

    void push_back(T& item, Link& link) {
        link.owner = &item;
        if (first_ == nullptr) {
            link.next = link.previous = &link;
            first_ = &link;
            return;
        }
        Link* last = first_->previous;
        link.next = first_;
        link.previous = last;
        last->next = &link;
        first_->previous = &link;
    }

    void push_front(T& item, Link& link) {
        push_back(item, link);
        first_ = &link;
    }

    /// Puts `item` in the place of the member whose link is `old`.
    void replace(Link& old, T& item, Link& link) {
        link.owner = &item;
        if (old.next == &old) {
            link.next = link.previous = &link;
        } else {
            link.next = old.next;
            link.previous = old.previous;
            link.next->previous = link.previous->next = &link;
        }
        if (first_ == &old) first_ = &link;
        old.next = old.previous = nullptr;
    }

    void remove(Link& link) {
        if (link.next == &link) {
            first_ = nullptr;
        } else {
            link.previous->next = link.next;
            link.next->previous = link.previous;
            if (first_ == &link) first_ = link.next;
        }
        link.next = link.previous = nullptr;
    }

  private:
    static T* owner(Link* link) { return link == nullptr ? nullptr : static_cast<T*>(link->owner); }

    Link* first_ = nullptr;
};

/// A set of numbers below N.
template <u32 N>
class Bits {
  public:
    static constexpr u32 kNone = ~u32{0};

    void set(u32 bit) { words_[bit / kWidth] |= Word{1} << bit % kWidth; }
    void clear(u32 bit) { words_[bit / kWidth] &= ~(Word{1} << bit % kWidth); }
    bool test(u32 bit) const { return (words_[bit / kWidth] >> bit % kWidth & 1) != 0; }

    /// The least member that is `from` or more; kNone if there is none.
    u32 next(u32 from) const {
        if (from >= N) return kNone;
        u32 place = from / kWidth;
        Word word = words_[place] & (~Word{0} << from % kWidth);
        while (word == 0) {
            if (++place == kWords) return kNone;
            word = words_[place];
        }
        return place * kWidth + static_cast<u32>(std::countr_zero(word));
    }

  private:
    static constexpr u32 kWidth = sizeof(Word) * 8;
    static constexpr u32 kWords = (N + kWidth - 1) / kWidth;
    Word words_[kWords] = {};
};

}  // namespace ravelin
