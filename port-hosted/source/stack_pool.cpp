// See stack_pool.h.

#include "port-hosted/source/stack_pool.h"

#include <new>

#ifdef RAVELIN_ASAN
// A stack that is dropped cannot give back the frames the sanitizer keeps elsewhere for it, so it
// keeps none. ASAN_OPTIONS can still ask for them.
extern "C" const char* __asan_default_options() {
    return "detect_stack_use_after_return=0";
}
#endif

namespace ravelin::hosted {

namespace {

std::byte* slot_of(GuestThread& thread) {
    return fault_stack_top(thread) - kSlotSize;
}

}  // namespace

StackPool::~StackPool() {
    while (live_ != nullptr) {
        give(*live_);
    }
}

bool StackPool::grow() {
    try {
        chunks_.emplace_back(kSlotSize * (kChunkSlots + 1), PROT_NONE);
    } catch (const std::exception&) {
        return false;
    }
    const auto start = reinterpret_cast<std::uintptr_t>(chunks_.back().start());
    fresh_ = reinterpret_cast<std::byte*>((start + kSlotSize - 1) & ~(kSlotSize - 1));
    end_ = fresh_ + kSlotSize * kChunkSlots;
    return true;
}

GuestThread* StackPool::take(void (*entry)(Transfer)) {
    std::lock_guard hold(mutex_);
    if (count_ == kMostSlots) {
        return nullptr;
    }
    std::byte* slot = nullptr;
    if (free_ != nullptr) {
        slot = slot_of(*free_);
        free_ = free_->next;
    } else {
        if (fresh_ == end_ && !grow()) {
            return nullptr;
        }
        if (::mprotect(fresh_ + kPageSize, kSlotSize - kPageSize, PROT_READ | PROT_WRITE) != 0) {
            return nullptr;
        }
        slot = fresh_;
        fresh_ += kSlotSize;
    }
    GuestThread* thread = new (slot + kSlotSize - kAreaSize) GuestThread;
    ++count_;
    thread->next = live_;
    if (live_ != nullptr) {
        live_->previous = thread;
    }
    live_ = thread;
    const std::size_t usable = kSlotSize - kPageSize - kAreaSize;
    fiber_make(thread->fiber, slot + kPageSize, kSlotSize - kPageSize, usable, entry);
    return thread;
}

void StackPool::give(GuestThread& thread) {
    std::lock_guard hold(mutex_);
    fiber_drop(thread.fiber);
    --count_;
    (thread.previous != nullptr ? thread.previous->next : live_) = thread.next;
    if (thread.next != nullptr) {
        thread.next->previous = thread.previous;
    }
    thread.next = free_;
    free_ = &thread;
}

}  // namespace ravelin::hosted
