// See system_calls.h.
#include "bench/micro/system_calls.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <system_error>

namespace ravelin::micro {

namespace {

// Calls the kernel of the host does not have: they only tell the watcher where the child is.
constexpr long kBeginMark = 0x52410001;
constexpr long kEndMark = 0x52410002;

class MarkMeter final : public Meter {
  public:
    void begin() override { ::syscall(kBeginMark); }
    void end() override { ::syscall(kEndMark); }
};

[[noreturn]] void be_watched(const Scene& scene) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) {
        ::_exit(2);
    }
    ::raise(SIGSTOP);
    MarkMeter meter;
    scene.run(meter);
    ::_exit(0);
}

// Lets the child go on to its next stop; false when it has ended.
bool step(pid_t child, int signal, int& status) {
    if (::ptrace(PTRACE_SYSCALL, child, nullptr, signal) != 0 ||
        ::waitpid(child, &status, 0) != child) {
        throw std::system_error(errno, std::generic_category(), "ptrace");
    }
    return WIFSTOPPED(status);
}

}  // namespace

u64 system_calls_of(const Scene& scene) {
    const pid_t child = ::fork();
    if (child < 0) {
        throw std::system_error(errno, std::generic_category(), "fork");
    }
    if (child == 0) {
        be_watched(scene);
    }
    int status = 0;
    if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
        throw std::runtime_error("the host forbids watching a process (ptrace)");
    }
    if (::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) !=
        0) {
        throw std::system_error(errno, std::generic_category(), "ptrace");
    }
    u64 count = 0;
    bool began = false;
    bool ended = false;
    int signal = 0;
    while (step(child, signal, status)) {
        signal = WSTOPSIG(status);
        if (signal != (SIGTRAP | 0x80)) {
            continue;  // a signal of its own, such as a page fault that the port answers: passed on
        }
        signal = 0;
        __ptrace_syscall_info info{};
        if (::ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) <= 0) {
            throw std::system_error(errno, std::generic_category(), "ptrace");
        }
        if (info.op != PTRACE_SYSCALL_INFO_ENTRY) {
            continue;
        }
        const auto number = static_cast<long>(info.entry.nr);
        if (number == kBeginMark) {
            began = true;
        } else if (number == kEndMark) {
            ended = true;
        } else if (began && !ended) {
            ++count;
        }
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || !ended) {
        throw std::runtime_error("the watched run of " + scene.name + " failed");
    }
    return count;
}

}  // namespace ravelin::micro
