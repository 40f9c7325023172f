// The search tree over keys, against a plain list: whatever was inserted is found, in any order of
// coming and going, and no key costs more steps than it has bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <random>
#include <vector>

#include "core/object/tree.h"

namespace ravelin {
namespace {

struct Member {
    std::uint64_t key = 0;
    TreeNode node;
};

class TreeTest : public testing::Test {
  protected:
    Member& add(std::uint64_t key) {
        Member& member = members_.emplace_back();
        member.key = key;
        tree_.insert(member, member.node, key);
        return member;
    }

    void remove(std::list<Member>::iterator at) {
        tree_.remove(at->node);
        EXPECT_FALSE(at->node.linked());
        members_.erase(at);
    }

    // Every member is found by its key, and counts the members it was compared with.
    void expect_all_found() {
        for (const Member& member : members_) {
            std::size_t compared = 0;
            const Member* found = tree_.find(member.key, [&](const Member& other) {
                ++compared;
                return &other == &member;
            });
            EXPECT_EQ(found, &member);
            const auto equal = std::ranges::count(members_, member.key, &Member::key);
            EXPECT_LE(compared, static_cast<std::size_t>(equal));
        }
        EXPECT_EQ(tree_.empty(), members_.empty());
    }

    // How many nodes lead to a member.
    static std::size_t depth(const Member& member) {
        std::size_t steps = 0;
        for (const TreeNode* at = member.node.parent; at != nullptr; at = at->parent)
            ++steps;
        return steps;
    }

    Tree<Member> tree_;
    std::list<Member> members_;
};

TEST_F(TreeTest, ComesAndGoesInAnyOrder) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        std::mt19937_64 random(seed);
        // Few keys, so that some are equal; in odd seeds all alike in their low bits.
        const unsigned shift = seed % 2 == 0 ? 0 : 50;
        for (int step = 0; step < 400; ++step) {
            if (members_.empty() || random() % 5 < 3) {
                add((random() % 100) << shift);
            } else {
                auto at = members_.begin();
                std::advance(at, static_cast<std::ptrdiff_t>(random() % members_.size()));
                remove(at);
            }
            if (step % 20 == 0) expect_all_found();
        }
        EXPECT_EQ(tree_.find(12'345'678), nullptr);
        while (!members_.empty())
            remove(members_.begin());
        EXPECT_TRUE(tree_.empty());
    }
}

TEST_F(TreeTest, AMemberHandsItsPlaceOn) {
    for (std::uint64_t key = 0; key < 64; ++key)
        add(key);
    std::vector<Member> heirs(members_.size());
    auto heir = heirs.begin();
    for (Member& member : members_) {
        tree_.replace(member.node, *heir, heir->node);
        EXPECT_FALSE(member.node.linked());
        EXPECT_EQ(heir->node.key, member.key);
        EXPECT_EQ(tree_.find(member.key), &*heir++);
    }
    for (const Member& one : heirs)
        EXPECT_EQ(tree_.find(one.node.key), &one);
}

TEST_F(TreeTest, IsNoDeeperThanAKeyHasBits) {
    // Numbers in order, as calls get them: about as deep as their logarithm.
    std::size_t deepest = 0;
    for (std::uint64_t key = 1; key <= 256; ++key)
        deepest = std::max(deepest, depth(add(key)));
    EXPECT_LE(deepest, 9U);
    // The worst there is: keys that differ in their highest bits alone, and equal ones below them.
    for (unsigned bit = 0; bit < 64; ++bit)
        deepest = std::max(deepest, depth(add(std::uint64_t{1} << bit)));
    EXPECT_LE(deepest, 64U);
    for (int i = 0; i < 10; ++i)
        deepest = std::max(deepest, depth(add(std::uint64_t{1} << 63)));
    EXPECT_LE(deepest, 64U + 11U);
    expect_all_found();
}

}  // namespace
}  // namespace ravelin
