// SPDX-License-Identifier: MIT

/// A group of rows that are measured together, selected by its name.
protocol Benchmark: SendableMetatype {
  static var name: String { get }
  /// All rows that `run` records; rows without a record are reported as not measured.
  static var rows: [Row] { get }
  static func run(_ report: Report) async throws
}
