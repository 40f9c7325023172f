// See child.h.

#include "user/workload/child.h"

#include "user/rt/trap.h"

namespace ravelin::workload {

Child::Child(rt::Env& env)
    : env_(env),
      mailbox_(env.start_handle<rt::Endpoint>(kMailboxHandle)),
      report_(env.start_handle<rt::Endpoint>(kReportHandle)) {
    receive_parameters();
}

void Child::receive_parameters() {
    for (u32 done = 0; done < kParameters; done += abi::kMessageWords) {
        const rt::Message message = must(rt::receive(mailbox_));
        for (u32 i = 0; i < abi::kMessageWords; ++i) {
            parameters_[done + i] = message.words.at[i];
        }
    }
}

void Child::await_window() {
    const rt::Message message = must(rt::receive(mailbox_));
    window_ = {.start = {message.words.at[0]}, .end = {message.words.at[1]}};
    rate_ = {.ticks = message.words.at[2], .micros = message.words.at[3]};
}

void Child::begin() {
    await_window();
    sleep_until(window_.start);
}

void Child::sleep_until(Ticks point) const {
    const Ticks now = rt::clock();
    if (now < point) {
        rt::sleep(rate_.micros_of(point - now));
    }
}

bool Child::in_window() const {
    return rt::clock() < window_.end;
}

void Child::report(u64 first, u64 second, u64 third) {
    const auto kind = static_cast<u64>(Report::value);
    // The launcher may have ended its part; then there is nobody left to tell.
    static_cast<void>(rt::send(report_, {{kind, first, second, third}}));
}

void Child::fail(u32 line) {
    static_cast<void>(rt::send(report_, {{static_cast<u64>(Report::failure), line}}));
    rt::process_exit(1);
}

}  // namespace ravelin::workload
