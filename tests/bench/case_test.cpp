// Case files: a whole one is understood, and whatever is wrong in one is told with file and line.
#include <gmock/gmock.h>

#include "tests/bench/support.h"
#include "tools/testbench/case.h"
#include "tools/testbench/runner.h"
#include "tools/testbench/words.h"

namespace ravelin::testbench {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

class CaseFile : public testing::Test {
  protected:
    Case good(const std::string& text) {
        auto loaded = load_case(folder_.write("sample.toml", text));
        EXPECT_TRUE(std::holds_alternative<Case>(loaded)) << std::get<std::string>(loaded);
        return std::holds_alternative<Case>(loaded) ? std::get<Case>(loaded) : Case{};
    }

    /// The error, without the folder: "sample.toml:LINE: MESSAGE".
    std::string bad(const std::string& text) {
        const auto loaded = load_case(folder_.write("sample.toml", text));
        if (std::holds_alternative<Case>(loaded)) {
            ADD_FAILURE() << "it was read:\n" << text;
            return "";
        }
        const std::string& error = std::get<std::string>(loaded);
        return error.substr(error.find("sample.toml"));
    }

    test::Folder folder_;
};

TEST_F(CaseFile, DefaultsOfTheLeastCase) {
    const Case judged = good("description = 'least'\n");
    EXPECT_EQ(judged.name, "sample");
    EXPECT_EQ(judged.program, "sample");
    EXPECT_THAT(judged.ports, ElementsAre(Port::hosted, Port::rv64, Port::rv32));
    EXPECT_THAT(judged.harts, ElementsAre(1U));
    EXPECT_THAT(judged.seeds, ElementsAre(1U));
    EXPECT_FALSE(judged.host_clock);
    EXPECT_TRUE(judged.checked);
    EXPECT_TRUE(judged.gate);
    EXPECT_EQ(judged.icount, 3U);
    EXPECT_EQ(judged.slice_us, 1000U);
    EXPECT_EQ(judged.ends, "off");
    EXPECT_THAT(judged.shares, IsEmpty());
}

TEST_F(CaseFile, EveryField) {
    const Case judged = good(R"(
description = "all of it"
program = "other"
ports = ["rv64"]
harts = [2, 4]
keep_harts = true
seeds = [3, 4]
clock = "host"
timeout_s = 5
memory_mib = 128
slice_us = 10000
icount = 5
features = ["arm-under-lock"]
gate = false
needs = ["true"]
expect = ["^a"]
forbid = ["b$"]
ends = "failed"
must_fail = "share"

[[budget]]
name = "one"
account = 7
weight = 100
threads = 2
windows = [1, 3]

[[share]]
budget = "one"
window = 3
op = "at_least"
want = 450
tolerance = 10
turns_tolerance = 40
host_tolerance = 90
gross = 800
turns_gross = 700
harts = [2]
ports = ["rv64"]

[[figure]]
name = "nobody"
op = "at_most"
target = 20
harts = 2

[checks]
wake_no_preempt = { budget = "one", at_least = 20 }
round_robin = { budget = "one", threads = 4, rounds = 12 }
ties = { groups = ["one"], size = 3 }
lift_delay = { budget = "one", peers = "one", at_least = 3 }
wake_wait = { budgets = ["one"], at_floor = 5, ahead = 6, p50_us = 70, p99_us = 80 }
)");
    EXPECT_EQ(judged.program, "other");
    EXPECT_THAT(judged.ports, ElementsAre(Port::rv64));
    EXPECT_THAT(judged.harts, ElementsAre(2U, 4U));
    EXPECT_TRUE(judged.keep_harts);
    EXPECT_TRUE(judged.host_clock);
    EXPECT_EQ(judged.slice_us, 10'000U);
    EXPECT_EQ(judged.icount, 5U);
    EXPECT_THAT(judged.features, ElementsAre("arm-under-lock"));
    EXPECT_FALSE(judged.gate);
    EXPECT_FALSE(judged.record);
    EXPECT_EQ(build_of(Port::rv64, judged).folder, "rv64-checked-slice10000-arm-under-lock");
    EXPECT_THAT(build_of(Port::rv64, judged).options,
                ElementsAre("RAVELIN_SLICE_US=10000", "RAVELIN_ARM_UNDER_LOCK=ON"));
    EXPECT_EQ(judged.ends, "failed");
    EXPECT_EQ(judged.must_fail, "share");
    ASSERT_EQ(judged.shares.size(), 1U);
    EXPECT_EQ(judged.shares[0].op, Op::at_least);
    EXPECT_EQ(judged.shares[0].want, 450);
    EXPECT_EQ(judged.shares[0].turns_tolerance, 40);
    EXPECT_EQ(judged.shares[0].host_tolerance, 90);
    EXPECT_EQ(judged.shares[0].gross, 800);
    EXPECT_EQ(judged.shares[0].turns_gross, 700);
    ASSERT_EQ(judged.figures.size(), 1U);
    EXPECT_THAT(judged.shares[0].scope.ports, ElementsAre(Port::rv64));
    EXPECT_THAT(judged.figures[0].scope.harts, ElementsAre(2U));
    EXPECT_THAT(judged.figures[0].scope.ports, IsEmpty());
    ASSERT_TRUE(judged.round_robin);
    EXPECT_EQ(judged.round_robin->tolerance, 100U);
    ASSERT_TRUE(judged.ties);
    EXPECT_EQ(judged.ties->size, 3U);
    ASSERT_TRUE(judged.wake_wait);
    EXPECT_EQ(judged.wake_wait->bounds.ahead, 6U);
    EXPECT_EQ(judged.wake_wait->bounds.p99_us, 80U);
    ASSERT_TRUE(judged.lift_delay);
    EXPECT_EQ(judged.lift_delay->at_least, 3U);
}

TEST_F(CaseFile, AVictimKeepsNineTenthsGross) {
    const std::string budget = "description = ''\n[[budget]]\nname = 'a'\naccount = 1\nweight = 1\n"
                               "[[share]]\nbudget = 'a'\n";
    EXPECT_EQ(good(budget).shares.at(0).gross, 0);
    EXPECT_EQ(good(budget + "op = 'at_least'\n").shares.at(0).gross, 900);
    EXPECT_EQ(good(budget + "op = 'at_least'\n").shares.at(0).turns_gross, 900);
    EXPECT_EQ(good(budget + "op = 'at_least'\ngross = 850\n").shares.at(0).turns_gross, 850);
}

TEST_F(CaseFile, HostToleranceIsTwiceTheTolerance) {
    const Case judged = good("description = ''\n[[budget]]\nname = 'a'\naccount = 1\nweight = 1\n"
                             "[[share]]\nbudget = 'a'\ntolerance = 30\n");
    EXPECT_EQ(judged.shares.at(0).host_tolerance, 60);
}

TEST_F(CaseFile, UnknownKeys) {
    EXPECT_EQ(bad("description = 'x'\n\nhart = 2\n"),
              "sample.toml:3: unknown key 'hart'; did you mean: harts, share");
    EXPECT_THAT(bad("description = 'x'\n[[budget]]\nname = 'a'\naccount = 1\nwieght = 3\n"),
                HasSubstr("sample.toml:5: unknown key of budget 'wieght'; did you mean: weight"));
    EXPECT_THAT(bad("description = 'x'\n[checks]\nround = 1\n"),
                HasSubstr("sample.toml:3: unknown key of checks 'round'"));
}

TEST_F(CaseFile, WrongTypes) {
    EXPECT_EQ(bad("description = 3\n"), "sample.toml:1: description must be a string");
    EXPECT_EQ(bad("description = 'x'\nharts = '2'\n"), "sample.toml:2: harts must be an integer");
    EXPECT_EQ(bad("description = 'x'\nharts = [1,\n 2.5]\n"),
              "sample.toml:3: harts must be an integer");
    EXPECT_EQ(bad("description = 'x'\nkeep_harts = 1\n"),
              "sample.toml:2: keep_harts must be true or false");
    EXPECT_EQ(bad("description = 'x'\nports = 'hosted'\n"),
              "sample.toml:2: ports must be a list of strings");
    EXPECT_EQ(bad("description = 'x'\nbudget = 1\n"),
              "sample.toml:2: budget must be written as [[budget]]");
    EXPECT_EQ(bad("description = 'x'\nchecks = 1\n"), "sample.toml:2: checks must be a table");
}

TEST_F(CaseFile, OutOfRange) {
    EXPECT_EQ(bad("description = 'x'\nharts = 0\n"),
              "sample.toml:2: harts must be from 1 to 8, not 0");
    EXPECT_EQ(bad("description = 'x'\nharts = [1, 9]\n"),
              "sample.toml:2: harts must be from 1 to 8, not 9");
    EXPECT_EQ(bad("description = 'x'\nharts = []\n"), "sample.toml:2: harts must not be empty");
    EXPECT_EQ(bad("description = 'x'\nharts = [2, 2]\n"), "sample.toml:2: harts has 2 twice");
    EXPECT_EQ(bad("description = 'x'\n[[budget]]\nname = 'a'\naccount = 1000\n"),
              "sample.toml:4: budget.account must be from 1 to 999, not 1000");
}

TEST_F(CaseFile, UnknownWords) {
    EXPECT_EQ(bad("description = 'x'\nports = ['rv46']\n"),
              "sample.toml:2: unknown port 'rv46'; did you mean: rv64, rv32");
    EXPECT_EQ(bad("description = 'x'\n[[figure]]\nname = 'nobody'\nop = 'at_most'\ntarget = 1\n"
                  "ports = ['rv46']\n"),
              "sample.toml:6: unknown port 'rv46'; did you mean: rv64, rv32");
    EXPECT_THAT(bad("description = 'x'\nclock = 'real'\n"), HasSubstr(":2: unknown clock 'real'"));
    EXPECT_THAT(bad("description = 'x'\nmust_fail = 'ordre'\n"),
                HasSubstr(":2: unknown must_fail 'ordre'"));
    EXPECT_THAT(bad("description = 'x'\n[[figure]]\nname = 'pick'\nop = 'at_least'\ntarget = 1\n"),
                HasSubstr(":3: unknown figure.name 'pick'; did you mean: picks"));
    EXPECT_THAT(bad("description = 'x'\n[[budget]]\nname = 'heavy'\naccount = 1\n[[share]]\nbudget "
                    "= 'heavvy'\n"),
                HasSubstr(":6: unknown budget 'heavvy'; did you mean: heavy"));
}

TEST_F(CaseFile, MissingAndContradicting) {
    EXPECT_THAT(bad("harts = 1\n"), HasSubstr("description is missing"));
    EXPECT_THAT(bad("description = 'x'\n[[budget]]\naccount = 1\n"),
                HasSubstr(":2: budget.name is missing"));
    EXPECT_THAT(bad("description = 'x'\n[[budget]]\nname = 'a'\naccount = 1\n[[budget]]\nname = "
                    "'b'\naccount = 1\n"),
                HasSubstr(":7: budgets 'a' and 'b' have one account"));
    EXPECT_THAT(
        bad("description = 'x'\n[[budget]]\nname = 'a'\naccount = 1\n[[share]]\nbudget = 'a'\n"),
        HasSubstr(":6: budget 'a' has no weight, so its share needs a want"));
    EXPECT_THAT(bad("description = 'x'\nchecked = false\n[[figure]]\nname = 'picks'\nop = "
                    "'at_least'\ntarget = 1\n"),
                HasSubstr(":2: a release kernel has no trace"));
    EXPECT_THAT(bad("description = 'x'\nchecked = false\nfeatures = ['arm-under-lock']\n"),
                HasSubstr(":3: a release kernel refuses every feature"));
    EXPECT_THAT(bad("description = 'x'\nfeatures = ['arm']\n"),
                HasSubstr(":2: unknown feature 'arm'; did you mean: arm-under-lock"));
    EXPECT_THAT(bad("description = 'x'\nrecord = true\nmust_fail = 'share'\n"),
                HasSubstr(":2: a case that must fail is judged"));
    EXPECT_THAT(bad("description = 'x'\nexpect = ['(']\n"),
                HasSubstr(":2: '(' is no regular expression"));
}

TEST_F(CaseFile, NoToml) {
    EXPECT_THAT(bad("description = 'x'\nharts = = 2\n"), HasSubstr("sample.toml:2: "));
    EXPECT_THAT(bad("description = 'x\n"), HasSubstr("sample.toml:1: "));
    EXPECT_THAT(std::get<std::string>(load_case("/no/such.toml")), HasSubstr("/no/such.toml:"));
}

TEST(Words, NearOnes) {
    const std::vector<std::string> known = {"sched-share", "sched-ties", "timeouts"};
    EXPECT_THAT(near_words("sched-shar", known), ElementsAre("sched-share"));
    EXPECT_THAT(near_words("shced-ties", known), ElementsAre("sched-ties"));
    EXPECT_THAT(near_words("sched", known), ElementsAre("sched-share", "sched-ties"));
    EXPECT_THAT(near_words("zzz", known), IsEmpty());
    EXPECT_THAT(unknown("case", "zzz", known),
                EndsWith("known: sched-share, sched-ties, timeouts"));
}

TEST(Words, Patterns) {
    EXPECT_TRUE(matches("sched-", "sched-share"));
    EXPECT_TRUE(matches("*share", "sched-share"));
    EXPECT_TRUE(matches("sched-?hare", "sched-share"));
    EXPECT_TRUE(matches("*", "anything"));
    EXPECT_FALSE(matches("share", "sched-share"));
    EXPECT_FALSE(matches("*shar", "sched-share"));
}

}  // namespace
}  // namespace ravelin::testbench
