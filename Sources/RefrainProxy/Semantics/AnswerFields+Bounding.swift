// SPDX-License-Identifier: MIT
internal import Refrain

extension AnswerFields {
  /// The directives that say for how long a response may be used.
  private static let ofLifetime: Set<String> = [
    "max-age", "s-maxage", "immutable", "must-revalidate", "stale-while-revalidate",
    "stale-if-error",
  ]

  /// Replaces what the fields state of the response's freshness. The client knows nothing of the
  /// redirects that led to the response, and would keep it for as long as its own fields permit.
  static func bound(_ fields: inout HeaderFields, by freshness: Freshness) {
    var directives = CacheDirective.all(in: fields["Cache-Control"] ?? "")
      .filter { !ofLifetime.contains($0.name) }.map(text)
    directives.append("max-age=\(Int64(min(max(freshness.lifetime, 0), Double(1 << 31))))")
    if freshness.mustRevalidate { directives.append("must-revalidate") }
    fields["Cache-Control"] = directives.joined(separator: ", ")
    fields["CDN-Cache-Control"] = nil
    fields["Expires"] = nil
  }

  private static func text(_ directive: CacheDirective) -> String {
    guard let argument = directive.argument else { return directive.name }
    if argument.isToken { return "\(directive.name)=\(argument)" }
    let escaped = argument.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    return "\(directive.name)=\"\(escaped)\""
  }
}
