// SPDX-License-Identifier: MIT
import Refrain

/// The media types that a client names in Accept (RFC 9110 §12.5.1). A pure value. A range such as
/// `*/*`, which nearly every program sends, names no type.
struct AcceptedTypes: Sendable, Hashable {
  private var weights: [String: Double] = [:]

  init(_ fields: HeaderFields) {
    for range in (fields["Accept"] ?? "").split(separator: ",") {
      let parts = range.split(separator: ";").map { $0.trimmingOWS.lowercased() }
      guard let type = parts.first else { continue }
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }?.dropFirst(2)
      // One type may be named several times, in several versions.
      weights[type] = max(weights[type] ?? 0, weight.flatMap { Double($0) } ?? 1)
    }
  }

  /// Returns how much the client wants a type, from 0 to 1; 0 if it does not name the type.
  ///
  /// - Parameter type: in lower case, without parameters.
  func weight(of type: String) -> Double { weights[type] ?? 0 }
}
