// SPDX-License-Identifier: MIT

/// A system requirement of tests, and whether they run without it.
///
/// They are then skipped, and a line reports this; with `REFRAIN_REQUIRE_CLIENTS=1` in the
/// environment they run, and fail. With `REFRAIN_HIDE_CLIENTS=1` everything counts as missing, and
/// its tests are skipped.
struct Requirement<Found: Sendable>: Sendable {
  let name: String
  let found: Found?
  /// Whether tests that need it run. Also true if it is missing but required.
  let isUsable: Bool

  /// Calls `find`, and prints a line if tests are skipped.
  init(_ name: String, environment: [String: String], find: () -> Found?) {
    self.name = name
    let isHidden = environment["REFRAIN_HIDE_CLIENTS"] == "1"
    found = isHidden ? nil : find()
    let mustBeThere = !isHidden && environment["REFRAIN_REQUIRE_CLIENTS"] == "1"
    isUsable = found != nil || mustBeThere
    if !isUsable {
      print("skipped: \(name) is \(isHidden ? "hidden" : "not installed (make clients)")")
    }
  }
}
