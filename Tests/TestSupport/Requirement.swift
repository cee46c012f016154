// SPDX-License-Identifier: MIT

/// Something of the system that tests need, and whether they run where it is missing.
///
/// They are skipped then, and a line says so; with `REFRAIN_REQUIRE_CLIENTS=1` in the environment
/// they run, and fail. With `REFRAIN_HIDE_CLIENTS=1` everything counts as missing, and its tests are
/// skipped.
struct Requirement<Found: Sendable>: Sendable {
  let name: String
  let found: Found?
  /// Whether tests that need it are to run. True also where it is missing and must not be.
  let isUsable: Bool

  /// Looks for it with `find`, and prints a line where tests are skipped.
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
