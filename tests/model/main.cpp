// Runs the model's own check: the unbroken model passes every scenario, contract and property, then
// each mutation is planted and must fail a scenario or a contract (R12).
//
// For each mutation it prints the checks that caught it; a check that threw does not count. The
// last line is `mutations caught N of N`; the exit code is 0 only if the unbroken model passed and
// every mutation was caught.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "checks.h"
#include "rules.h"

namespace ravelin::model {

namespace {

std::vector<Check> all_checks() {
    std::vector<Check> checks = scenarios();
    checks.insert(checks.end(), contracts().begin(), contracts().end());
    checks.insert(checks.end(), attacks().begin(), attacks().end());
    return checks;
}

class CheckTest : public testing::Test {
  public:
    explicit CheckTest(Check check) : check_(std::move(check)) {}
    void TestBody() override {
        for (const std::string& finding : check_.run(Rules{})) {
            ADD_FAILURE() << finding;
        }
    }

  private:
    Check check_;
};

void register_checks(const char* suite, const std::vector<Check>& checks) {
    for (const Check& check : checks) {
        testing::RegisterTest(suite, std::string(check.name).c_str(), nullptr, nullptr, __FILE__,
                              __LINE__,
                              [check]() -> testing::Test* { return new CheckTest(check); });
    }
}

// Plants every mutation and prints who caught it. Returns how many were caught.
std::size_t plant_mutations() {
    const std::vector<Check> checks = all_checks();
    std::size_t caught = 0;
    for (const MutationInfo& info : kMutations) {
        std::string by;
        std::string crashed;
        for (const Check& check : checks) {
            try {
                if (!check.run(Rules{info.mutation}).empty()) {
                    by += (by.empty() ? "" : ", ") + std::string(check.name);
                }
            } catch (const std::exception& error) {
                crashed += (crashed.empty() ? "" : ", ") + std::string(check.name) + " (" +
                           error.what() + ")";
            }
        }
        caught += by.empty() ? 0 : 1;
        std::printf("%s (%s): %s%s%s\n", std::string(info.name).c_str(),
                    std::string(info.breaks).c_str(), by.empty() ? "MISSED" : "caught by ",
                    by.c_str(), crashed.empty() ? "" : ("; crashed: " + crashed).c_str());
    }
    return caught;
}

}  // namespace

}  // namespace ravelin::model

int main(int argc, char** argv) {
    using namespace ravelin::model;
    // The same sequences every run, unless the caller asks for others.
    setenv("RC_PARAMS", "seed=20 max_success=300", 0);
    testing::InitGoogleTest(&argc, argv);
    register_checks("Scenario", scenarios());
    register_checks("Contract", contracts());
    register_checks("Attack", attacks());
    const int failed = RUN_ALL_TESTS();
    const std::size_t caught = plant_mutations();
    if (failed != 0) {
        std::printf("the unbroken model fails its own checks\n");
    }
    std::printf("mutations caught %zu of %zu\n", caught, kMutations.size());
    return failed == 0 && caught == kMutations.size() ? 0 : 1;
}
