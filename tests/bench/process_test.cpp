// A child process is followed line by line and ended with all its group, whatever it does.
#include <signal.h>

#include <chrono>
#include <thread>

#include <gmock/gmock.h>

#include "tests/bench/support.h"
#include "tools/testbench/process.h"

namespace ravelin::testbench {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

struct Ran {
    ProcessResult result;
    std::vector<std::string> lines;
};

Ran run(const std::string& script, milliseconds timeout = milliseconds(20'000),
        const std::string& stop_at = "", milliseconds grace = milliseconds(0)) {
    Ran ran;
    ran.result = run_process({"sh", "-c", script}, {.timeout = timeout, .grace = grace},
                             [&](std::string_view line) {
                                 ran.lines.emplace_back(line);
                                 return stop_at.empty() || line != stop_at;
                             });
    return ran;
}

TEST(Process, LinesAndExitCode) {
    const Ran ran = run("printf 'one\\r\\ntwo\\nthree'; echo oops >&2; exit 7");
    EXPECT_THAT(ran.lines, ElementsAre("one", "two", "three"));
    EXPECT_EQ(ran.result.exit_code, 7);
    EXPECT_EQ(ran.result.signal, 0);
    EXPECT_EQ(ran.result.errors, "oops\n");
    EXPECT_FALSE(ran.result.timed_out);
}

TEST(Process, MuchOutput) {
    const Ran ran = run("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done");
    ASSERT_EQ(ran.lines.size(), 20'000U);
    EXPECT_EQ(ran.lines.back(), "line 19999");
}

TEST(Process, ASignal) {
    EXPECT_EQ(run("kill -ABRT $$").result.signal, SIGABRT);
}

TEST(Process, ATimeoutEndsTheWholeGroup) {
    const Ran ran = run("sleep 600 & echo $!; sleep 600", milliseconds(300));
    EXPECT_TRUE(ran.result.timed_out);
    EXPECT_LT(ran.result.wall_s, 10.0);
    ASSERT_EQ(ran.lines.size(), 1U);
    const auto grandchild = static_cast<pid_t>(std::stol(ran.lines[0]));
    bool gone = false;
    for (int i = 0; i < 100 && !gone; ++i) {
        gone = kill(grandchild, 0) != 0;
        if (!gone) {
            // It may be a zombie that nobody reaps: then it holds nothing and is as good as gone.
            std::ifstream status("/proc/" + std::to_string(grandchild) + "/stat");
            std::string text((std::istreambuf_iterator<char>(status)), {});
            gone = text.find(") Z") != std::string::npos;
        }
        std::this_thread::sleep_for(milliseconds(20));
    }
    EXPECT_TRUE(gone);
}

TEST(Process, AGrandchildThatHoldsThePipes) {
    const Ran ran = run("sleep 600 & exit 0", milliseconds(60'000));
    EXPECT_FALSE(ran.result.timed_out);
    EXPECT_EQ(ran.result.exit_code, 0);
    EXPECT_LT(ran.result.wall_s, 30.0);
}

TEST(Process, StoppedAtALine) {
    const Ran ran = run("echo go; echo end; sleep 600; echo never", milliseconds(60'000), "end");
    EXPECT_TRUE(ran.result.stopped);
    EXPECT_FALSE(ran.result.timed_out);
    EXPECT_THAT(ran.lines, ElementsAre("go", "end"));
    EXPECT_LT(ran.result.wall_s, 30.0);
}

TEST(Process, GraceBehindTheLastLine) {
    const Ran ran =
        run("echo end; sleep 0.2; exit 5", milliseconds(60'000), "end", milliseconds(20'000));
    EXPECT_EQ(ran.result.exit_code, 5);
}

TEST(Process, NoSuchProgram) {
    const ProcessResult result = run_process({"/no/such/program"}, {.timeout = milliseconds(1000)},
                                             [](std::string_view) { return true; });
    EXPECT_THAT(result.not_started, HasSubstr("/no/such/program: No such file"));
}

TEST(Process, FindProgram) {
    EXPECT_NE(find_program("sh"), "");
    EXPECT_EQ(find_program("no-such-program-here"), "");
    EXPECT_EQ(find_program("/no/such/program"), "");
}

}  // namespace
}  // namespace ravelin::testbench
