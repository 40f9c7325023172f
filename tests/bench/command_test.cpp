// The bench's command line from end to end, on a stand-in for the hosted kernel: verdicts, tables, JSON,
// exit codes, and one clear line for each kind of bad input.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/bench/support.h"
#include "tools/testbench/process.h"

namespace ravelin::testbench {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr const char* kShares = R"(
[[budget]]
name = "light"
account = 1
weight = 100
[[budget]]
name = "equal"
account = 2
weight = 100
[[budget]]
name = "heavy"
account = 3
weight = 300
[[share]]
budget = "light"
[[share]]
budget = "equal"
[[share]]
budget = "heavy"
[[figure]]
name = "picks"
op = "at_least"
target = 100
)";

fs::path here() {
    return fs::read_symlink("/proc/self/exe").parent_path();
}

struct Said {
    int code = -1;
    std::string out;
    std::string errors;
};

class Bench : public testing::Test {
  protected:
    Bench() {
        const fs::path kernel =
            root_.path() / "build/hosted-checked/port-hosted/ravelin-hosted-run";
        fs::create_directories(kernel.parent_path());
        setenv("RAVELIN_FAKE_FOLDER", root_.path().c_str(), 1);
        fs::create_symlink(here() / "bench-fake-run", kernel);
        add("good", kShares);
    }

    /// A case whose program is its name.
    void add(const std::string& name, const std::string& fields) {
        root_.write("tests/cases/" + name + ".toml",
                    "description = 'the case " + name + "'\n" + fields);
    }

    Said say(std::vector<std::string> words) {
        words.insert(words.begin() + 1, {"--root", root_.path().string()});
        return say_plainly(words);
    }

    Said say_plainly(const std::vector<std::string>& words) {
        std::vector<std::string> command = {
            (here() / "../../tools/testbench/testbench").lexically_normal().string()};
        command.insert(command.end(), words.begin(), words.end());
        Said said;
        const ProcessResult result = run_process(command, {.timeout = std::chrono::seconds(100)},
                                                 [&](std::string_view line) {
                                                     said.out += std::string(line) + "\n";
                                                     return true;
                                                 });
        EXPECT_EQ(result.not_started, "");
        EXPECT_FALSE(result.timed_out);
        said.code = result.exit_code;
        said.errors = result.errors;
        return said;
    }

    /// A command line that is refused: exit code 2, nothing run, one line.
    std::string refused(const std::vector<std::string>& words) {
        const Said said = say(words);
        EXPECT_EQ(said.code, 2) << said.out << said.errors;
        EXPECT_THAT(said.out, IsEmpty());
        EXPECT_EQ(std::count(said.errors.begin(), said.errors.end(), '\n'), 1) << said.errors;
        EXPECT_THAT(said.errors, StartsWith("testbench: "));
        return said.errors;
    }

    nlohmann::json results() {
        std::ifstream file(root_.path() / "out.json");
        return nlohmann::json::parse(file);
    }

    std::vector<std::string> with_json(std::vector<std::string> words) {
        words.insert(words.end(), {"--json", (root_.path() / "out.json").string()});
        return words;
    }

    test::Folder root_;
};

// --- what is judged ---

TEST_F(Bench, AGoodCasePasses) {
    const Said said = say({"run", "good"});
    EXPECT_EQ(said.code, 0) << said.out << said.errors;
    EXPECT_THAT(said.out, HasSubstr("good  hosted, 1 hart, seed 1, clock virtual: PASS"));
    EXPECT_THAT(said.out, testing::ContainsRegex("light +100 +1 +200 +[12][0-9]+ "));
    EXPECT_THAT(said.out, testing::ContainsRegex("heavy +300 +1 +600 +[56][0-9]+ "));
    EXPECT_FALSE(fs::exists(root_.path() / "build/traces"));
}

TEST_F(Bench, TheJsonHasItsContract) {
    const Said said = say(with_json({"run", "good", "--harts", "2", "--seed", "5"}));
    EXPECT_EQ(said.code, 0) << said.out << said.errors;
    const nlohmann::json json = results();
    ASSERT_EQ(json["results"].size(), 1U);
    const nlohmann::json& result = json["results"][0];
    EXPECT_EQ(result["case"], "good");
    EXPECT_EQ(result["port"], "hosted");
    EXPECT_EQ(result["board"], "hosted");
    EXPECT_EQ(result["harts"], 2);
    EXPECT_EQ(result["seed"], 5);
    EXPECT_EQ(result["clock"], "virtual");
    EXPECT_EQ(result["build"], "hosted-checked");
    EXPECT_EQ(result["verdict"], "pass");
    EXPECT_EQ(result["reason"], "");
    EXPECT_GT(result["trace"]["records"], 1000);
    EXPECT_EQ(result["trace"]["dropped"], 0);
    EXPECT_GT(result["wall_s"], 0.0);
    ASSERT_EQ(result["shares"].size(), 3U);
    const nlohmann::json& heavy = result["shares"][2];
    EXPECT_EQ(heavy["budget"], "heavy");
    EXPECT_EQ(heavy["weight"], 300);
    EXPECT_EQ(heavy["want"], 500.0);
    EXPECT_NEAR(heavy["got"], 500, 50);
    EXPECT_NEAR(heavy["got_gross"], 500, 50);
    const auto picks = std::find_if(result["figures"].begin(), result["figures"].end(),
                                    [](const auto& figure) { return figure["name"] == "picks"; });
    ASSERT_NE(picks, result["figures"].end());
    for (const char* key : {"name", "group", "value", "gross", "unit", "target", "op", "judged"}) {
        EXPECT_TRUE(picks->contains(key)) << key;
    }
    EXPECT_EQ((*picks)["judged"], true);
    EXPECT_EQ((*picks)["target"], 100);
}

TEST_F(Bench, AMissedShareFails) {
    add("good", std::string(kShares) + "[[share]]\nbudget = 'light'\nwant = 400\n");
    const Said said = say({"run", "good"});
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.out,
                AllOf(HasSubstr("FAIL"), HasSubstr("budget 'light' got"), HasSubstr("MISSED")));
}

TEST_F(Bench, AShareIsKeptWithItsLockWaits) {
    const std::string rule = std::string(kShares) +
                             "[[share]]\nbudget = 'light'\nop = 'at_least'\nwant = 230\n"
                             "tolerance = 100\n";
    add("good", rule);
    const Said missed = say({"run", "good"});
    EXPECT_EQ(missed.code, 1);
    EXPECT_THAT(missed.out, AllOf(HasSubstr("with its lock waits, where 230 is owed and 900 of "
                                            "1000 of that must be kept"),
                                  HasSubstr("MISSED")));
    add("good", rule + "gross = 800\n");
    EXPECT_EQ(say({"run", "good"}).code, 0);
}

TEST_F(Bench, AMissedFigureFails) {
    add("good", "[[figure]]\nname = 'picks'\nop = 'at_most'\ntarget = 3\n");
    const Said said = say({"run", "good"});
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.out, HasSubstr("figure: picks is"));
}

TEST_F(Bench, ABrokenRuleFailsWithItsRecords) {
    add("broken", kShares);
    const Said said = say({"run", "broken"});
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.out, HasSubstr("fold: budget"));
    EXPECT_THAT(said.out, testing::ContainsRegex("#[0-9]+ e[0-9]+ h0 pass b[0-9]+ pass [0-9]+"));
    EXPECT_TRUE(fs::exists(root_.path() / "build/traces/broken-hosted-h1-s1-virtual.trace"));
}

TEST_F(Bench, AMustFailCasePassesOnlyByItsCheck) {
    add("broken", "must_fail = 'fold'\n");
    EXPECT_EQ(say({"run", "broken"}).code, 0);
    add("broken", "must_fail = 'lock'\n");
    const Said other = say({"run", "broken"});
    EXPECT_EQ(other.code, 1);
    EXPECT_THAT(other.out, HasSubstr("lock must reject it and only fold did"));
    add("good", "must_fail = 'fold'\n");
    const Said none = say({"run", "good"});
    EXPECT_EQ(none.code, 1);
    EXPECT_THAT(none.out, HasSubstr("fold must reject it and nothing did"));
}

TEST_F(Bench, TheWeightsOfTheCaseAreChecked) {
    std::string wrong = kShares;
    wrong.replace(wrong.find("300"), 3, "301");
    add("good", wrong);
    EXPECT_THAT(say({"run", "good"}).out,
                HasSubstr("account 3 has weight 300 in the trace, not 301"));
}

TEST_F(Bench, AWindowThatIsNotThere) {
    add("no-window", kShares);
    const Said said = say({"run", "no-window"});
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.out, HasSubstr("the run has 0 windows, and window 1 is judged"));
}

TEST_F(Bench, AnotherSliceThanTheKernels) {
    add("good", std::string("slice_us = 2000\n") + kShares);
    fs::create_directories(root_.path() / "build/hosted-checked-slice2000/port-hosted");
    fs::create_symlink(here() / "bench-fake-run",
                       root_.path() /
                           "build/hosted-checked-slice2000/port-hosted/ravelin-hosted-run");
    EXPECT_THAT(say({"run", "good"}).out,
                HasSubstr("the kernel's slice is 10000 ticks, and 2000 us are 20000"));
}

TEST_F(Bench, WhatIsJudgedNowhereIsRecorded) {
    std::string elsewhere = "[[budget]]\nname = 'a'\naccount = 1\nweight = 100\n"
                            "[[share]]\nbudget = 'a'\nharts = [3]\n";
    add("good", elsewhere);
    const Said said = say({"run", "good"});
    EXPECT_EQ(said.code, 0);
    EXPECT_THAT(said.out, HasSubstr("RECORDED"));
}

TEST_F(Bench, ConsoleLines) {
    add("good", "expect = ['^first line of', '^last']\nforbid = ['nothing like it']\n");
    EXPECT_EQ(say({"run", "good"}).code, 0);
    add("good", "expect = ['^last', '^first line of']\n");
    EXPECT_THAT(say({"run", "good"}).out, HasSubstr("no console line matches '^first line of'"));
    add("good", "forbid = ['last']\n");
    EXPECT_THAT(say({"run", "good"}).out, HasSubstr("a console line matches 'last': last line"));
    add("panics", "");
    EXPECT_THAT(say({"run", "panics"}).out, HasSubstr("a console line matches 'PANIC'"));
}

// --- runs that go wrong ---

TEST_F(Bench, ATruncatedTrace) {
    add("truncated", kShares);
    const Said said = say({"run", "truncated"});
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.out, HasSubstr("the trace is refused: truncated"));
}

TEST_F(Bench, NoTrace) {
    add("no-trace", "");
    const Said said = say({"run", "no-trace"});
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.out, HasSubstr("the run left no trace"));
}

TEST_F(Bench, ACrash) {
    add("crashes", "");
    const Said said = say({"run", "crashes"});
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.out, HasSubstr("ended by signal 6"));
}

TEST_F(Bench, AnExitCodeWithItsLastWord) {
    add("exits", "");
    const Said said = say({"run", "exits"});
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.out, HasSubstr("exit code 3, not 0 (the last word)"));
}

TEST_F(Bench, ALauncherThatFailed) {
    add("ends-failed", "");
    EXPECT_THAT(say({"run", "ends-failed"}).out, HasSubstr("exit code 1, not 0"));
    add("ends-failed", "ends = 'failed'\n");
    EXPECT_EQ(say({"run", "ends-failed"}).code, 0);
}

TEST_F(Bench, ARunThatHangsIsEnded) {
    add("hangs", "timeout_s = 1\n");
    const Said said = say({"run", "hangs"});
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.out, HasSubstr("no end within 1 s of the host's time; killed"));
}

TEST_F(Bench, AMissingKernelIsNotRun) {
    fs::remove(root_.path() / "build/hosted-checked/port-hosted/ravelin-hosted-run");
    const Said said = say({"run", "good"});
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.out,
                AllOf(HasSubstr("NOT RUN"), HasSubstr("ravelin-hosted-run: build it with")));
}

TEST_F(Bench, AMissingKernelOrEmulatorOfRiscvIsNotRun) {
    const Said said = say({"run", "good", "--on", "rv64"});
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.out, HasSubstr("NOT RUN"));
    EXPECT_THAT(said.out, testing::AnyOf(HasSubstr("qemu-system-riscv64 is not installed"),
                                         HasSubstr("ravelin-kernel.bin: build it with")));
}

TEST_F(Bench, APortOrProgramTheCaseLacksIsNotRun) {
    add("good", "ports = ['rv32']\n");
    EXPECT_THAT(say({"run", "good"}).out, HasSubstr("the case does not run on hosted"));
    add("good", "needs = ['no-such-program-here']\n");
    const Said said = say({"run", "good"});
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.out, HasSubstr("the case needs no-such-program-here, which is not installed"));
}

// --- many runs ---

TEST_F(Bench, ABenchRunsHartsAndSeeds) {
    add("good", std::string("harts = [1, 2]\nseeds = [1, 2, 3]\n") + kShares);
    add("other", "program = 'good'\n");
    const Said said = say(with_json({"bench", "--jobs", "2"}));
    EXPECT_EQ(said.code, 0) << said.out << said.errors;
    EXPECT_THAT(said.out, HasSubstr("7 runs: 7 passed, 0 failed, 0 recorded, 0 not run"));
    EXPECT_EQ(results()["results"].size(), 7U);
    EXPECT_THAT(say({"bench", "go", "--seeds", "4..5"}).out, HasSubstr("4 runs: 4 passed"));
    EXPECT_THAT(say({"bench", "*od", "--harts", "3"}).out, HasSubstr("3 runs: 3 passed"));
}

TEST_F(Bench, ABenchWithOneFailureFails) {
    add("broken", "");
    const Said said = say({"bench"});
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.out, HasSubstr("2 runs: 1 passed, 1 failed"));
    EXPECT_THAT(said.out, HasSubstr("fold: budget"));
}

TEST_F(Bench, ABenchWithOneRunNotRunFails) {
    add("elsewhere", "ports = ['rv32']\n");
    const Said said = say({"bench"});
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.out, HasSubstr("1 not run"));
}

TEST_F(Bench, ListAndShow) {
    add("other", "");
    const Said list = say({"bench", "list"});
    EXPECT_EQ(list.code, 0);
    EXPECT_EQ(list.out, "good   the case good\nother  the case other\n");
    const Said show = say({"bench", "show", "good"});
    EXPECT_EQ(show.code, 0);
    EXPECT_THAT(show.out, AllOf(HasSubstr("heavy: account 3, weight 300, 1 thread"),
                                HasSubstr("figure   picks at_least 100")));
}

TEST_F(Bench, ATraceIsJudgedAndPrinted) {
    add("broken", "");
    EXPECT_EQ(say({"run", "broken"}).code, 1);
    const std::string file =
        (root_.path() / "build/traces/broken-hosted-h1-s1-virtual.trace").string();
    const Said said = say_plainly({"trace", file, "--first", "1", "--count", "2"});
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.out, AllOf(StartsWith("#1 e1 h0 enter boot"), HasSubstr("\nfold: budget")));
    EXPECT_THAT(say_plainly({"trace", "/no/such/file"}).errors,
                HasSubstr("cannot open /no/such/file"));
}

// --- sweeps, gates, builds ---

TEST_F(Bench, ASweepTellsItsWorstSeed) {
    const Said said = say({"bench", "good", "--seeds", "1..4"});
    EXPECT_EQ(said.code, 0) << said.errors;
    EXPECT_THAT(said.out, testing::ContainsRegex(
                              "sweep +passed +judged +target +worst +seed +margin +median\n"));
    EXPECT_THAT(said.out, testing::ContainsRegex("good hosted harts 1 virtual +4 of 4 +picks"));
    EXPECT_THAT(said.out, testing::ContainsRegex("share of heavy, window 1 +600 within 50 +[0-9.]+ "
                                                 "+[1-4] +[0-9.]+ +[0-9.]+"));
    EXPECT_THAT(say({"bench", "good"}).out, Not(HasSubstr("sweep")));
}

TEST_F(Bench, GatesAreRunOnTheirPortsAlone) {
    add("good", std::string("ports = ['hosted']\n") + kShares);
    add("sketch", "gate = false\nports = ['hosted']\nprogram = 'good'\n");
    const Said said = say({"bench", "--gates"});
    EXPECT_EQ(said.code, 0) << said.out << said.errors;
    EXPECT_THAT(said.out, HasSubstr("1 runs: 1 passed"));
    EXPECT_EQ(refused({"bench", "sketch", "--gates"}),
              "testbench: none of these cases is a gate\n");
    EXPECT_THAT(say({"bench", "show", "sketch"}).out, Not(HasSubstr("a gate")));
}

TEST_F(Bench, RulesAloneAtAnyNumberOfHarts) {
    add("good", std::string("harts = 1\nkeep_harts = true\n") + kShares +
                    "[[figure]]\nname = 'harts_ran'\nop = 'at_least'\ntarget = 64\n");
    add("made-to-fail", std::string("program = 'good'\nmust_fail = 'share'\n") + kShares);
    const Said said = say({"bench", "--rules", "--harts", "3", "good"});
    EXPECT_EQ(said.code, 0) << said.out << said.errors;
    EXPECT_THAT(said.out, testing::ContainsRegex("good +hosted +3 +1 +virtual +RECORDED"));
    EXPECT_THAT(said.out, HasSubstr("1 runs: 0 passed, 0 failed, 1 recorded"));
    EXPECT_NE(say({"bench", "good"}).code, 0) << "64 harts never ran";
    EXPECT_EQ(refused({"bench", "made-to-fail", "--rules"}),
              "testbench: none of these cases can be judged by the rules alone\n");
}

TEST_F(Bench, SeveralPorts) {
    add("good", std::string("ports = ['hosted', 'rv64']\n") + kShares);
    const Said said = say({"bench", "--on", "hosted", "--on", "rv64", "good"});
    EXPECT_THAT(said.out, HasSubstr("2 runs: 1 passed, 0 failed, 0 recorded, 1 not run"));
    EXPECT_THAT(refused({"run", "good", "--on", "hosted", "--on", "rv64"}),
                HasSubstr("run takes one port"));
}

TEST_F(Bench, TheBuildsThatRunsNeed) {
    add("slow", "slice_us = 10000\nports = ['rv64']\n");
    add("plain", "checked = false\nports = ['hosted']\n");
    add("broken", "features = ['arm-under-lock']\nports = ['rv64', 'rv32']\nmust_fail = 'lock'\n");
    EXPECT_EQ(say({"builds", "--gates", "slow", "plain", "broken"}).out,
              "hosted-release hosted-release ravelin-hosted-run\n"
              "rv32-checked-arm-under-lock rv32-checked all RAVELIN_ARM_UNDER_LOCK=ON\n"
              "rv64-checked-arm-under-lock rv64-checked all RAVELIN_ARM_UNDER_LOCK=ON\n"
              "rv64-checked-slice10000 rv64-checked all RAVELIN_SLICE_US=10000\n");
}

TEST_F(Bench, WhatIsForTheRecordIsNotJudged) {
    add("good", "record = true\n[[figure]]\nname = 'picks'\nop = 'at_most'\ntarget = 3\n");
    const Said said = say({"run", "good"});
    EXPECT_EQ(said.code, 0);
    EXPECT_THAT(said.out, HasSubstr("RECORDED  the case is for the record; the rules hold"));
    add("broken", "record = true\n");
    EXPECT_EQ(say({"run", "broken"}).code, 1);
}

/// A miss of time on the host's clock is believed when the run alone misses too.
TEST_F(Bench, AMissOnTheHostsClockIsRunOnceMore) {
    add("good", "clock = 'host'\n[[figure]]\nname = 'picks'\nop = 'at_most'\ntarget = 3\n");
    EXPECT_EQ(say(with_json({"run", "good"})).code, 1);
    EXPECT_EQ(results()["results"][0]["runs"], 2);
    add("misses-once", std::string("clock = 'host'\n") + kShares);
    const Said once = say(with_json({"run", "misses-once"}));
    EXPECT_EQ(once.code, 0) << once.out;
    EXPECT_THAT(once.out, HasSubstr("it missed once before: window 1: budget"));
    EXPECT_EQ(results()["results"][0]["runs"], 2);
    // What breaks a rule is believed at once.
    add("broken", "clock = 'host'\n");
    EXPECT_EQ(say(with_json({"run", "broken"})).code, 1);
    EXPECT_EQ(results()["results"][0]["runs"], 1);
}

// --- the journal ---

TEST_F(Bench, ABenchGoesOnWhereItWasEnded) {
    add("other", "program = 'good'\n");
    const std::string journal = (root_.path() / "out/journal.jsonl").string();
    EXPECT_EQ(say({"bench", "good", "--journal", journal}).code, 0);
    const Said rest = say({"bench", "--journal", journal, "--resume"});
    EXPECT_EQ(rest.code, 0) << rest.errors;
    EXPECT_THAT(rest.errors,
                AllOf(HasSubstr("1 of 2 runs are taken from"), HasSubstr("[1/1] other")));
    EXPECT_THAT(rest.out, HasSubstr("2 runs: 2 passed"));

    // A line that was cut short, a case that changed: those are run again.
    fs::resize_file(journal, fs::file_size(journal) - 20);
    add("good", "# changed\n");
    const Said again = say({"bench", "--journal", journal, "--resume"});
    EXPECT_THAT(again.errors, HasSubstr("[2/2] "));
    EXPECT_THAT(again.errors, Not(HasSubstr("taken from")));

    // Without --resume a bench begins anew.
    EXPECT_THAT(say({"bench", "--journal", journal}).errors, HasSubstr("[2/2] "));
}

TEST_F(Bench, OnlyFailuresAreRunAgain) {
    add("broken", "");
    const std::string journal = (root_.path() / "out/journal.jsonl").string();
    EXPECT_THAT(refused({"bench", "--journal", journal, "--failed"}), HasSubstr("has no runs"));
    EXPECT_EQ(say({"bench", "--journal", journal}).code, 1);
    const Said said = say({"bench", "--journal", journal, "--failed"});
    EXPECT_EQ(said.code, 1);
    EXPECT_THAT(said.out, HasSubstr("1 runs: 0 passed, 1 failed"));
    EXPECT_THAT(said.errors, HasSubstr("[1/1] broken"));
    add("broken", "must_fail = 'fold'\n");
    EXPECT_EQ(say({"bench", "--journal", journal, "--failed"}).code, 0);
    EXPECT_EQ(say({"bench", "--journal", journal, "--failed"}).out, "none of these runs failed\n");
    EXPECT_THAT(refused({"bench", "--failed"}), HasSubstr("need a --journal"));
}

TEST_F(Bench, ATimeIsLeft) {
    EXPECT_THAT(say({"bench", "good", "--seeds", "1..3", "--jobs", "1"}).errors,
                testing::ContainsRegex("\\[1/3\\] good .*, about [0-9]+ s left\n"));
}

// --- comparing, JUnit ---

TEST_F(Bench, TwoResultSetsAreCompared) {
    const std::string before = (root_.path() / "a.json").string();
    const std::string after = (root_.path() / "b.json").string();
    add("other", "program = 'good'\n");
    EXPECT_EQ(say({"bench", "--json", before}).code, 0);
    add("other", "program = 'broken'\n");
    EXPECT_EQ(say({"bench", "--harts", "1", "--json", after}).code, 1);
    const Said worse = say({"bench", "compare", before, after});
    EXPECT_EQ(worse.code, 1) << worse.errors;
    EXPECT_THAT(worse.out,
                AllOf(HasSubstr("verdicts that changed"),
                      testing::ContainsRegex("other hosted h1 s1 virtual +pass +fail +fold"),
                      HasSubstr("2 runs in both, 1 verdicts changed, 0 figures moved")));
    const Said better = say({"bench", "compare", after, before});
    EXPECT_EQ(better.code, 0);
    EXPECT_THAT(better.out, testing::ContainsRegex("other hosted h1 s1 virtual +fail +pass"));

    EXPECT_EQ(say({"bench", "good", "--seed", "7", "--json", after}).code, 0);
    const Said others = say({"bench", "compare", before, after});
    EXPECT_EQ(others.code, 1);
    EXPECT_THAT(others.out, AllOf(HasSubstr("runs of one set alone"),
                                  testing::ContainsRegex("good hosted h1 s7 virtual +B"),
                                  testing::ContainsRegex("good hosted h1 s1 virtual +A")));

    std::string moved = test::Folder::text_of(before);
    const std::string picks = "\"name\": \"picks\"";
    const std::size_t value = moved.find("\"value\": ", moved.find(picks)) + 9;
    moved.insert(value, "9");
    root_.write("b.json", moved);
    EXPECT_THAT(
        say({"bench", "compare", before, after}).out,
        testing::ContainsRegex("figures that moved, judged ones first\n.*\n  good hosted h1 "
                               "s1 virtual +picks"));
    root_.write("b.json", "[1]");
    EXPECT_THAT(refused({"bench", "compare", before, after}),
                HasSubstr("b.json holds no results of a bench"));
}

TEST_F(Bench, JUnitXml) {
    add("broken", "");
    add("elsewhere", "ports = ['rv32']\n");
    const std::string file = (root_.path() / "junit.xml").string();
    EXPECT_EQ(say({"bench", "--junit", file}).code, 1);
    const std::string xml = test::Folder::text_of(file);
    EXPECT_THAT(xml, HasSubstr("<testsuite name=\"ravelin.hosted\" tests=\"3\" failures=\"1\" "
                               "skipped=\"1\""));
    EXPECT_THAT(xml, HasSubstr("name=\"good harts 1 seed 1 virtual\""));
    EXPECT_THAT(xml, testing::ContainsRegex("<failure message=\"fold: budget"));
    EXPECT_THAT(xml, HasSubstr("<skipped message=\"the case does not run on hosted\"/>"));
}

// --- bad input ---

TEST_F(Bench, AnUnknownCase) {
    EXPECT_EQ(refused({"run", "goood"}), "testbench: unknown case 'goood'; did you mean: good\n");
    EXPECT_EQ(refused({"bench", "zzz"}), "testbench: unknown case 'zzz'; known: good\n");
    EXPECT_EQ(refused({"bench", "show", "goo"}),
              "testbench: unknown case 'goo'; did you mean: good\n");
}

TEST_F(Bench, AMalformedCaseFile) {
    add("bad", "harts = 'two'\n");
    EXPECT_THAT(refused({"run", "bad"}),
                HasSubstr("tests/cases/bad.toml:2: harts must be an integer"));
    EXPECT_THAT(refused({"bench"}), HasSubstr("tests/cases/bad.toml:2: "));
    EXPECT_EQ(say({"bench", "list"}).code, 2);
}

TEST_F(Bench, NoOrTooManyHarts) {
    EXPECT_EQ(refused({"run", "good", "--harts", "0"}),
              "testbench: --harts: 0 harts; 1 to 8 are possible\n");
    EXPECT_EQ(refused({"bench", "--harts", "9"}),
              "testbench: --harts: 9 harts; 1 to 8 are possible\n");
    EXPECT_EQ(refused({"run", "good", "--harts", "two"}),
              "testbench: --harts: 'two' is no number\n");
    EXPECT_EQ(refused({"run", "good", "--harts", "-1"}), "testbench: --harts: '-1' is no number\n");
    add("good", "harts = 1\nkeep_harts = true\n");
    EXPECT_EQ(refused({"run", "good", "--harts", "2"}),
              "testbench: good keeps its hart count: it cannot run with 2\n");
}

TEST_F(Bench, AnUnknownPortOrClock) {
    EXPECT_EQ(refused({"run", "good", "--on", "rv46"}),
              "testbench: unknown port 'rv46'; did you mean: rv64, rv32\n");
    EXPECT_EQ(refused({"run", "good", "--clock", "icount"}),
              "testbench: on hosted: unknown clock 'icount'; known: virtual, threads\n");
    EXPECT_EQ(refused({"run", "good", "--on", "rv64", "--clock", "virtual"}),
              "testbench: on rv64: unknown clock 'virtual'; known: icount, host\n");
}

TEST_F(Bench, WrongSeeds) {
    EXPECT_EQ(refused({"run", "good", "--seed", "x"}), "testbench: --seed: 'x' is no number\n");
    EXPECT_EQ(refused({"bench", "--seeds", "3"}), "testbench: --seeds: '3' is not A..B\n");
    EXPECT_THAT(refused({"bench", "--seeds", "5..3"}), HasSubstr("5 to 3 is no sweep"));
    EXPECT_THAT(refused({"bench", "--seeds", "1..2", "--seed", "1"}),
                HasSubstr("exclude each other"));
}

TEST_F(Bench, WrongWords) {
    refused({"run"});
    refused({"run", "good", "other"});
    refused({"run", "good", "--no-such-option"});
    refused({"bench", "compare", "a"});
    refused({"bench", "show"});
    EXPECT_THAT(refused({"run", "good", "--json", "/no/such/folder/x.json"}),
                HasSubstr("cannot write /no/such/folder/x.json"));
}

TEST_F(Bench, ATreeWithoutCases) {
    fs::remove_all(root_.path() / "tests");
    EXPECT_THAT(refused({"bench"}), HasSubstr("there are no cases in"));
}

}  // namespace
}  // namespace ravelin::testbench
