// Threads of one child that share one page: what they are to do is written before they start, and each
// says in it when it is done.
#pragma once

#include <atomic>
#include <new>
#include <type_traits>

#include "user/rt/launch.h"
#include "user/rt/trap.h"
#include "user/workload/child.h"

namespace ravelin::workload {

inline constexpr u32 kMaxTeam = 64;

/// Threads that run Work(shared, index). The page and the stacks stay until the process ends: a thread
/// that has counted itself out still runs a few instructions on its stack.
template <class Shared, void (*Work)(Shared&, u32)>
class Team {
  public:
    /// Copies `shared` to the page and starts `count` threads with indices from 1.
    Team(Child& child, const Shared& shared, u32 count) : count_(count) {
        static_assert(std::is_trivially_copyable_v<Shared> && sizeof(Page) <= rt::kPageSize);
        if (count > kMaxTeam) {
            child.fail(__builtin_LINE());
        }
        const Word address = child.must(rt::map_anon(rt::kPageSize, abi::kRead | abi::kWrite));
        page_ = new (rt::user_memory(address)) Page{.shared = shared};
        for (u32 i = 0; i < count; ++i) {
            rt::Stack stack = child.must(rt::Stack::make());
            static_cast<void>(child.must(rt::start_thread<thread>(stack, address)));
            stack.forget();
        }
    }

    /// What all threads see.
    Shared& shared() { return page_->shared; }

    /// Returns when every thread's Work has returned.
    void join() const {
        while (page_->done.load(std::memory_order_acquire) != count_) {
            rt::sleep(rt::milliseconds(1));
        }
    }

  private:
    struct Page {
        Shared shared;
        std::atomic<u32> next{1};
        std::atomic<u32> done{0};
    };

    static void thread(rt::Env& env) {
        Page* page = rt::user_object<Page>(env.argument());
        Work(page->shared, page->next.fetch_add(1, std::memory_order_relaxed));
        page->done.fetch_add(1, std::memory_order_release);
    }

    u32 count_;
    Page* page_;
};

}  // namespace ravelin::workload
