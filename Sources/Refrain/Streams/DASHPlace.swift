// SPDX-License-Identifier: MIT
import Foundation

/// The whole URL of a base of references in an MPD (ISO/IEC 23009-1 §5.6.4), where it is known.
struct DASHPlace: Sendable {
  /// Nil where clients may choose another base, where nothing resolves against it, and where it is
  /// longer than any in use: a chain of long ones would take quadratic time.
  private var url: URIReference?
  /// Whether a BaseURL of the chain has a scheme.
  private(set) var isBelowAbsolute = false

  private static let longest = 2048

  /// The place of a document whose bases above are unknown.
  init() {}

  /// - Parameter url: the URL of a document that contains all bases.
  init(_ url: URL) {
    let text = url.absoluteString
    if text.utf8.count <= Self.longest { self.url = URIReference(text) }
  }

  /// Returns the place that BaseURLs of one level make of this one.
  ///
  /// - Parameter allowance: the bytes left for the URLs of the MPD.
  func below(_ alternatives: [String], _ allowance: inout Int) -> DASHPlace {
    guard let first = alternatives.first else { return self }
    var place = DASHPlace()
    place.isBelowAbsolute = isBelowAbsolute || URIReference(first).scheme != nil
    if alternatives.count == 1, allowance > 0, let url = target(of: first) {
      allowance -= url.path.utf8.count + (url.query?.utf8.count ?? 0)
      place.url = url
    }
    return place
  }

  /// Returns the absolute form of a reference; nil if it is unknown, or no http or https URL.
  func resolved(_ text: String) -> String? { target(of: text)?.textWithoutFragment }

  private func target(of text: String) -> URIReference? {
    guard let url, text.utf8.count <= Self.longest, !ReferenceRewriting.isAmbiguous(text) else {
      return nil
    }
    let target = URIReference(text).resolved(against: url)
    guard let scheme = target.scheme?.lowercased(), scheme == "http" || scheme == "https",
      let authority = target.authority, !authority.isEmpty, target.path.utf8.count <= Self.longest
    else { return nil }
    return target
  }
}

extension DASHReference {
  /// Notes the absolute form of a reference that stays, if it leads out of its directory, or is a
  /// BaseURL below an absolute one.
  ///
  /// - Parameter allowance: the bytes left for the URLs of the MPD.
  mutating func locate(in place: DASHPlace, _ allowance: inout Int) {
    let isBase = reference.kind == .base && place.isBelowAbsolute
    guard isBase || reference.text.contains(".."), allowance > 0,
      let url = place.resolved(reference.text)
    else { return }
    allowance -= url.utf8.count
    located = url
    isBelowAbsolute = isBase
  }
}
