// SPDX-License-Identifier: MIT
import Foundation

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
    case everything
  }

  var subjects: [Subject] = []

  static let longestBody = 1 << 20

  /// Reads a request with the method PURGE. A target that ends with an asterisk stands for all that
  /// begin so.
  init(target: String) {
    subjects = [
      target.hasSuffix("*") ? .targetPrefix(String(target.dropLast())) : .target(target)
    ]
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
        "The body is not a purge. Send an object with some of the members urls and prefixes "
          + "(lists of strings) and everything (true or false).")
    }
    for url in document.urls ?? [] {
      subjects.append(url.hasPrefix("/") ? .target(url) : .url(url))
    }
    for prefix in document.prefixes ?? [] {
      subjects.append(prefix.hasPrefix("/") ? .targetPrefix(prefix) : .urlPrefix(prefix))
    }
    if document.everything == true { subjects.append(.everything) }
    guard !subjects.isEmpty else {
      throw HTTPError(400, "The purge names nothing. Name urls or prefixes, or everything.")
    }
  }

  private struct Document: Decodable {
    var urls: [String]?
    var prefixes: [String]?
    var everything: Bool?

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: Member.self)
      urls = try members.decodeIfPresent([String].self, forKey: Member("urls"))
      prefixes = try members.decodeIfPresent([String].self, forKey: Member("prefixes"))
      everything = try members.decodeIfPresent(Bool.self, forKey: Member("everything"))
      // An unknown member may say what is to stay.
      let known: Set = ["urls", "prefixes", "everything"]
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
