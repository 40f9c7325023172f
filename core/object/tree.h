// An intrusive search tree over 64-bit keys: where a member stands is decided by its key's bits, lowest
// first, so there is nothing to balance and nothing to grow.
#pragma once

#include "core/types.h"

namespace ravelin {

/// A member's place in one tree.
struct TreeNode {
    u64 key = 0;
    void* owner = nullptr;  ///< null: in no tree
    TreeNode* parent = nullptr;
    TreeNode* child[2] = {};

    bool linked() const { return owner != nullptr; }
};

/// Members of type T by key; several may have the same one. All-zero: empty.
///
/// Invariant: below a node's child 0 at depth d stand members whose keys' lowest d bits are the node's
/// and whose bit d is 0, below child 1 those in which it is 1. Bound: find, insert and remove visit at
/// most one node a bit of a key, and one more for each member of an equal key.
template <class T>
class Tree {
  public:
    bool empty() const { return root_ == nullptr; }

    /// The member with that key for which `match` holds; null if there is none.
    template <class Match>
    T* find(u64 key, Match match) const {
        TreeNode* node = root_;
        for (u32 depth = 0; node != nullptr; ++depth) {
            if (node->key == key && match(*owner(node))) return owner(node);
            node = node->child[side(key, depth)];
        }
        return nullptr;
    }
    T* find(u64 key) const {
        return find(key, [](const T&) { return true; });
    }

    void insert(T& item, TreeNode& node, u64 key) {
        TreeNode* parent = nullptr;
        TreeNode** place = &root_;
        for (u32 depth = 0; *place != nullptr; ++depth) {
            parent = *place;
            place = &parent->child[side(key, depth)];
        }
        node = {.key = key, .owner = &item, .parent = parent, .child = {}};
        *place = &node;
    }

    /// Takes a member out: one that has nothing below it takes its place.
    void remove(TreeNode& node) {
        TreeNode* last = &node;
        while (TreeNode* child = last->child[0] != nullptr ? last->child[0] : last->child[1])
            last = child;
        place_of(*last) = nullptr;
        if (last != &node) stand_for(node, *last);
        node.owner = nullptr;
    }

    /// Puts `fresh`, of `item`, where `old` stands, with its key.
    void replace(TreeNode& old, T& item, TreeNode& fresh) {
        fresh.key = old.key;
        fresh.owner = &item;
        stand_for(old, fresh);
        old.owner = nullptr;
    }

  private:
    static constexpr u32 kBits = 64;

    static T* owner(const TreeNode* node) { return static_cast<T*>(node->owner); }

    // Below the last bit there is one side only, for members of equal keys.
    static u32 side(u64 key, u32 depth) {
        return depth >= kBits ? 0 : static_cast<u32>(key >> depth & 1);
    }

    TreeNode*& place_of(TreeNode& node) {
        if (node.parent == nullptr) return root_;
        return node.parent->child[node.parent->child[0] == &node ? 0 : 1];
    }

    void stand_for(TreeNode& old, TreeNode& fresh) {
        place_of(old) = &fresh;
        fresh.parent = old.parent;
        for (u32 which = 0; which < 2; ++which) {
            fresh.child[which] = old.child[which];
            if (fresh.child[which] != nullptr) fresh.child[which]->parent = &fresh;
        }
    }

    TreeNode* root_ = nullptr;
};

}  // namespace ravelin
