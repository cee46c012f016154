// SPDX-License-Identifier: MIT

/// How far fetching goes beyond the bytes that readers ask for.
public enum FillPolicy: String, Sendable, Hashable, Codable {
  /// Nothing beyond the read-ahead window of a live reader.
  case onDemand
  /// While a reader has the resource open, its holes are filled to the end, behind the readers'
  /// needs.
  case wholeResource
}
