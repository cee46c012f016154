// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// A request to purge, as the operator sends it. A pure value.
///
/// `PURGE /path` is the form that Varnish, nginx and Fastly share; `POST /purge` names several
/// resources at once.
struct PurgeRequest: Sendable, Hashable {
  /// What a purge concerns, still as text.
  enum Subject: Sendable, Hashable {
    /// A target in origin form, as clients send it.
    case target(String)
    case url(String)
    /// The beginning of targets.
    case targetPrefix(String)
    case urlPrefix(String)
    case tag(String)
    case everything
  }

  var subjects: [Subject] = []
  var isSoft = false

  static let longestBody = 1 << 20

  /// Reads a request with the method PURGE. A target that ends with an asterisk stands for all that
  /// begin so. Fields with tags name what to purge instead of the target.
  ///
  /// - Throws: 400 if tags are named beside a path.
  init(target: String, _ fields: HeaderFields) throws(HTTPError) {
    isSoft = fields["Fastly-Soft-Purge"].map { $0.trimmingOWS != "0" } ?? false
    let tags = PurgeSelection.tags(in: fields)
    if tags.isEmpty {
      subjects = [
        target.hasSuffix("*") ? .targetPrefix(String(target.dropLast())) : .target(target)
      ]
    } else {
      guard target == "/" else {
        throw HTTPError(
          400, "A purge by tags is for all resources. Send it to the path / alone.")
      }
      subjects = tags.sorted().map { .tag($0) }
    }
  }

  /// Reads the body of `POST /purge`.
  ///
  /// - Throws: 400 if it is invalid, or names nothing.
  init(body: [UInt8]) throws(HTTPError) {
    let document: Document
    do {
      document = try JSONDecoder().decode(Document.self, from: Data(body))
    } catch {
      throw HTTPError(
        400,
        "The body is not a purge. Send an object with some of the members urls, prefixes and tags "
          + "(lists of strings), everything and soft (true or false).")
    }
    isSoft = document.soft ?? false
    for url in document.urls ?? [] {
      subjects.append(url.hasPrefix("/") ? .target(url) : .url(url))
    }
    for prefix in document.prefixes ?? [] {
      subjects.append(prefix.hasPrefix("/") ? .targetPrefix(prefix) : .urlPrefix(prefix))
    }
    for tag in document.tags ?? [] { subjects.append(.tag(tag)) }
    if document.everything == true { subjects.append(.everything) }
    guard !subjects.isEmpty else {
      throw HTTPError(400, "The purge names nothing. Name urls, prefixes or tags, or everything.")
    }
  }

  private struct Document: Decodable {
    var urls: [String]?
    var prefixes: [String]?
    var tags: [String]?
    var everything: Bool?
    var soft: Bool?

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: Member.self)
      urls = try members.decodeIfPresent([String].self, forKey: Member("urls"))
      prefixes = try members.decodeIfPresent([String].self, forKey: Member("prefixes"))
      tags = try members.decodeIfPresent([String].self, forKey: Member("tags"))
      everything = try members.decodeIfPresent(Bool.self, forKey: Member("everything"))
      soft = try members.decodeIfPresent(Bool.self, forKey: Member("soft"))
      // A misspelt `soft` would remove what was to stay.
      let known: Set = ["urls", "prefixes", "tags", "everything", "soft"]
      guard members.allKeys.allSatisfy({ known.contains($0.stringValue) }) else {
        throw DecodingError.dataCorrupted(
          .init(codingPath: [], debugDescription: "A member is unknown."))
      }
    }

    private struct Member: CodingKey {
      var stringValue: String
      var intValue: Int? { nil }

      init(_ name: String) { stringValue = name }
      init?(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }
  }
}
