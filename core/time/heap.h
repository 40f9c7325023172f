// A heap whose nodes lie in the pages of what waits: timeouts in their threads, deadlines and a
// payer's earliest item in their budgets.
//
// A leftist heap with parent links. Order: by time; at one instant timeouts in (pid, tid) order
// before deadlines by budget id. Bound: insert and remove cost O(log n), in the worst case and not
// only on average, whatever was inserted before.
#pragma once

#include "core/types.h"

namespace ravelin {

enum class TimedKind : u8 { timeout, deadline };

struct TimerNode {
    Ticks due;
    u64 order = 0;  ///< a timeout's pid << 16 | tid, a deadline's budget id
    TimedKind kind = TimedKind::timeout;
    bool linked = false;
    u8 distance =
        0;  ///< nodes on the path of right children, this one included; at most 1 + log2 of the heap's size
    TimerNode* parent = nullptr;
    TimerNode* left = nullptr;
    TimerNode* right = nullptr;

    bool before(const TimerNode& other) const {
        if (due != other.due) return due < other.due;
        if (kind != other.kind) return kind < other.kind;
        return order < other.order;
    }
};

class TimerHeap {
  public:
    TimerNode* first() const { return root_; }
    bool empty() const { return root_ == nullptr; }

    void insert(TimerNode& node) {
        node.left = node.right = nullptr;
        node.distance = 1;
        node.linked = true;
        set_root(meld(root_, &node));
    }

    void remove(TimerNode& node) {
        TimerNode* parent = node.parent;
        TimerNode* rest = meld(node.left, node.right);
        if (parent == nullptr) {
            set_root(rest);
        } else {
            (parent->left == &node ? parent->left : parent->right) = rest;
            if (rest != nullptr) rest->parent = parent;
            settle(parent, false);
        }
        node.linked = false;
        node.parent = node.left = node.right = nullptr;
    }

  private:
    void set_root(TimerNode* node) {
        root_ = node;
        if (node != nullptr) node->parent = nullptr;
    }

    static u8 distance(const TimerNode* node) { return node == nullptr ? u8{0} : node->distance; }

    // Restores the shape from `node` up: the right path is never the longer one. `all` visits every
    // ancestor, else it stops where nothing changed.
    static void settle(TimerNode* node, bool all) {
        while (node != nullptr) {
            if (distance(node->left) < distance(node->right)) {
                TimerNode* left = node->left;
                node->left = node->right;
                node->right = left;
            }
            u8 now = static_cast<u8>(distance(node->right) + 1);
            if (now == node->distance && !all) return;
            node->distance = now;
            node = node->parent;
        }
    }

    // Joins two heaps down their right paths, then settles the joined path.
    static TimerNode* meld(TimerNode* a, TimerNode* b) {
        if (a == nullptr) return b;
        if (b == nullptr) return a;
        if (b->before(*a)) {
            TimerNode* first = a;
            a = b;
            b = first;
        }
        TimerNode* root = a;
        root->parent = nullptr;
        while (a->right != nullptr) {
            if (b->before(*a->right)) {
                TimerNode* below = a->right;
                a->right = b;
                b->parent = a;
                b = below;
            }
            a = a->right;
        }
        a->right = b;
        b->parent = a;
        settle(a, true);
        return root;
    }

    TimerNode* root_ = nullptr;
};

}  // namespace ravelin
