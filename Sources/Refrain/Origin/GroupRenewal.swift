// SPDX-License-Identifier: MIT
import Foundation

/// What the user's hook has changed in a refused request of a group, so that other requests of the
/// group can be changed alike. A pure value.
struct GroupRenewal: Sendable, Hashable {
  private struct Change: Sendable, Hashable {
    var name: String
    var old: String?
    var new: String?
  }

  private let origin: WebOrigin
  private var headers: [Change] = []
  /// The changed parameters, as spelled. They belong together, as in a signature.
  private var parameters: [Change] = []

  /// - Returns: nil if nothing was changed, or nothing that other requests may have: a new path is
  ///   that of one resource, and a request to another origin has secrets of that origin.
  init?(from old: Resource, to new: Resource) {
    guard let origin = WebOrigin(old.url), origin == WebOrigin(new.url) else { return nil }
    self.origin = origin
    let names = Set((old.headers.fields + new.headers.fields).map { $0.name.lowercased() })
    headers = names.sorted().compactMap { name in
      let change = Change(name: name, old: old.headers[name], new: new.headers[name])
      return change.old == change.new ? nil : change
    }
    parameters = Self.changes(old.url, new.url)
    if headers.isEmpty, parameters.isEmpty { return nil }
  }

  /// Returns the changed parameters; empty if the URLs differ in anything else.
  private static func changes(_ old: URL, _ new: URL) -> [Change] {
    var (old, new) = (URIReference(old.absoluteString), URIReference(new.absoluteString))
    let (before, after) = (parameters(old), parameters(new))
    (old.query, new.query) = (nil, nil)
    guard old.textWithoutFragment == new.textWithoutFragment,
      before.map(\.name) == after.map(\.name)
    else { return [] }
    return zip(before, after).filter { $0.value != $1.value }
      .map { Change(name: $0.name, old: $0.value, new: $1.value) }
  }

  private static func parameters(_ url: URIReference) -> [(name: String, value: String?)] {
    (url.query ?? "").split(separator: "&", omittingEmptySubsequences: false).map { parameter in
      let parts = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return (String(parts[0]), parts.count > 1 ? String(parts[1]) : nil)
    }
  }

  /// Returns the resource with the new headers and parameters, if it has the old ones: others are
  /// newer, or rights of its own. A header is added only if the renewed request had none.
  func applied(to resource: Resource) -> Resource {
    guard WebOrigin(resource.url) == origin else { return resource }
    var resource = resource
    for change in headers {
      if resource.headers[change.name] == change.old { resource.headers[change.name] = change.new }
    }
    if !parameters.isEmpty, let url = renewed(resource.url) { resource.url = url }
    return resource
  }

  private func renewed(_ url: URL) -> URL? {
    var reference = URIReference(url.absoluteString)
    var all = Self.parameters(reference)
    for change in parameters {
      guard let index = all.firstIndex(where: { $0.name == change.name && $0.value == change.old })
      else { return nil }
      all[index].value = change.new
    }
    reference.query = all.map { $0.name + ($0.value.map { "=" + $0 } ?? "") }.joined(separator: "&")
    return URL(string: reference.textWithoutFragment, encodingInvalidCharacters: false)
  }
}
