# The scheduler's order, computed from the objects: what a charge does to a pass, and which of two
# ranks is first and why. Written from the rules and not from the queue's code, so that it tells when
# that is wrong.

STRIDE = 1 << 20
MOST_TICKS = 1 << 40
LEAST_CHARGE = 1
MOST = 2**128 - 1


def charged(entity, ticks):
    """A pass after `ticks` more, at the entity's free weight."""
    if entity.weight == 0:
        return entity.passed
    return min(entity.passed + (entity.remainder + min(ticks, MOST_TICKS) * STRIDE) // entity.weight, MOST)


def pending(model, hart, now):
    """Ticks that count against a hart's runner and are not in its pass: those billed, and the interval
    still open if the runner pays it."""
    ticks = int(hart["pending"]["value"])
    if now is not None and int(hart["payer"]) == int(hart["runner"]):
        ticks += max(0, now - int(hart["since"]["value"]))
    return ticks


def comparison(winner, loser):
    """Why one rank (pass, tie, id) is before another."""
    if winner[0] != loser[0]:
        return "pass: lower by %d" % (loser[0] - winner[0])
    if winner[1] != loser[1]:
        return "tie, at an equal pass: %d before %d" % (winner[1], loser[1])
    return "id, at an equal pass and tie: %d before %d" % (winner[2], loser[2])
