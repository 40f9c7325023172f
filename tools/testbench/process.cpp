#include "tools/testbench/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

namespace ravelin::testbench {

namespace {

using Clock = std::chrono::steady_clock;

/// Both ends of a pipe, closed on exec and when they go.
class Pipe {
  public:
    Pipe() {
        if (pipe2(ends_.data(), O_CLOEXEC) != 0) {
            ends_ = {-1, -1};
        }
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() {
        close_end(0);
        close_end(1);
    }

    bool open() const { return ends_[0] >= 0; }
    int reader() const { return ends_[0]; }
    int writer() const { return ends_[1]; }
    void close_end(std::size_t end) {
        if (ends_[end] >= 0) {
            close(ends_[end]);
            ends_[end] = -1;
        }
    }

  private:
    std::array<int, 2> ends_{-1, -1};
};

/// Splits a stream into lines.
class Lines {
  public:
    /// False once on_line has answered so.
    bool feed(std::string_view bytes, const std::function<bool(std::string_view)>& on_line) {
        partial_ += bytes;
        std::size_t from = 0;
        bool go_on = true;
        for (std::size_t end; (end = partial_.find('\n', from)) != std::string::npos;
             from = end + 1) {
            std::string_view line(partial_.data() + from, end - from);
            if (line.ends_with('\r')) {
                line.remove_suffix(1);
            }
            go_on = on_line(line) && go_on;
        }
        partial_.erase(0, from);
        return go_on;
    }

    void finish(const std::function<bool(std::string_view)>& on_line) {
        if (!partial_.empty()) {
            on_line(partial_);
        }
    }

  private:
    std::string partial_;
};

[[noreturn]] void become(const std::vector<std::string>& command, const Pipe& out, const Pipe& err,
                         const Pipe& failure, std::optional<unsigned> core) {
    setpgid(0, 0);
    if (core) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(*core, &set);
        sched_setaffinity(0, sizeof(set), &set);
    }
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(out.writer(), STDOUT_FILENO);
    dup2(err.writer(), STDERR_FILENO);
    std::vector<char*> words;
    for (const std::string& word : command) {
        words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    execvp(words[0], words.data());
    const int why = errno;
    [[maybe_unused]] const ssize_t written = write(failure.writer(), &why, sizeof(why));
    _exit(127);
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options,
                          const std::function<bool(std::string_view)>& on_line) {
    ProcessResult result;
    Pipe out;
    Pipe err;
    Pipe failure;
    if (!out.open() || !err.open() || !failure.open()) {
        result.not_started = fmt::format("no pipe: {}", std::strerror(errno));
        return result;
    }
    const Clock::time_point start = Clock::now();
    Clock::time_point deadline = start + options.timeout;
    const pid_t child = fork();
    if (child < 0) {
        result.not_started = fmt::format("no process: {}", std::strerror(errno));
        return result;
    }
    if (child == 0) {
        become(command, out, err, failure, options.core);
    }
    setpgid(child, child);
    out.close_end(1);
    err.close_end(1);
    failure.close_end(1);

    int why = 0;
    if (read(failure.reader(), &why, sizeof(why)) == static_cast<ssize_t>(sizeof(why))) {
        waitpid(child, nullptr, 0);
        result.not_started = fmt::format("{}: {}", command[0], std::strerror(why));
        return result;
    }

    Lines lines;
    std::array<char, 65'536> buffer;
    bool out_open = true;
    bool err_open = true;
    int status = 0;
    bool ended = false;
    while (!ended || out_open || err_open) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
        if (left <= 0) {
            result.timed_out = !result.stopped;
            break;
        }
        std::array<pollfd, 2> polled{pollfd{out_open ? out.reader() : -1, POLLIN, 0},
                                     pollfd{err_open ? err.reader() : -1, POLLIN, 0}};
        poll(polled.data(), polled.size(), static_cast<int>(std::min<long long>(left, 50)));
        if (polled[0].revents != 0) {
            const ssize_t got = read(out.reader(), buffer.data(), buffer.size());
            out_open = got > 0;
            if (got > 0 && !lines.feed({buffer.data(), static_cast<std::size_t>(got)}, on_line) &&
                !result.stopped) {
                result.stopped = true;
                deadline = std::min(deadline, Clock::now() + options.grace);
            }
        }
        if (polled[1].revents != 0) {
            const ssize_t got = read(err.reader(), buffer.data(), buffer.size());
            err_open = got > 0;
            if (got > 0) {
                result.errors.append(buffer.data(), static_cast<std::size_t>(got));
            }
        }
        if (!ended) {
            ended = waitpid(child, &status, WNOHANG) == child;
        } else if (polled[0].revents == 0 && polled[1].revents == 0) {
            break;  // a grandchild may hold the pipes open for ever
        }
    }
    kill(-child, SIGKILL);
    if (!ended) {
        waitpid(child, &status, 0);
    }
    lines.finish(on_line);
    if (WIFEXITED(status)) {
        result.exit_code = WEXITSTATUS(status);
    } else if (WIFSIGNALED(status)) {
        result.signal = WTERMSIG(status);
    }
    result.wall_s = std::chrono::duration<double>(Clock::now() - start).count();
    return result;
}

std::vector<unsigned> usable_cores() {
    std::vector<unsigned> cores;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
            if (CPU_ISSET(core, &set)) {
                cores.push_back(core);
            }
        }
    }
    return cores.empty() ? std::vector<unsigned>{0} : cores;
}

std::string find_program(const std::string& name) {
    if (name.find('/') != std::string::npos) {
        return access(name.c_str(), X_OK) == 0 ? name : "";
    }
    const char* path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::string candidate = (std::filesystem::path(folder) / name).string();
        if (access(candidate.c_str(), X_OK) == 0) {
            return candidate;
        }
    }
    return "";
}

}  // namespace ravelin::testbench
