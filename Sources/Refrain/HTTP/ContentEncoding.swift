// SPDX-License-Identifier: MIT

/// Content-Encoding (RFC 9110 §8.4), in which servers also write words that name no coding: `none`,
/// the charset of a text, or how an upload was sent (`aws-chunked`). The body is as it would be
/// without them, and clients ignore them.
extension HeaderFields {
  private static let noCodings: Set<String> = [
    "identity", "none", "binary", "utf-8", "utf8", "aws-chunked",
  ]

  /// The codings of the body, in the order in which they were applied, in lower case.
  package var contentCodings: [String] {
    values(of: "Content-Encoding").flatMap { $0.split(separator: ",") }
      .map { $0.trimmingOWS.lowercased() }
      .filter { !$0.isEmpty && !Self.noCodings.contains($0) }
  }

  /// Removes the words that name no coding, so that neither what is stored nor a client has them.
  package mutating func dropNoCodings() {
    guard let field = self["Content-Encoding"] else { return }
    let codings = contentCodings.joined(separator: ", ")
    guard codings.isEmpty || codings != field.lowercased() else { return }
    self["Content-Encoding"] = codings.isEmpty ? nil : codings
  }
}
