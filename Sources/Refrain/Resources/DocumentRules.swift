// SPDX-License-Identifier: MIT
public import Foundation

/// Rules for small documents that may change as they go on, such as lists of what comes next. Called
/// from any thread.
///
/// A cache asks them about a URL once for each request, about a head once for each response, and
/// about a body once, if all of it is at most `longest` bytes long: never about a chunk of anything
/// longer. Behind a redirect it asks once more about the head and the body.
public protocol DocumentRules: AnyObject, Sendable {
  /// The longest document, in bytes.
  var longest: Int64 { get }

  /// Whether a resource is named a document. It is then requested without a range, is no media that
  /// is read in pieces, and may be decoded.
  ///
  /// - Parameters:
  ///   - mimeType: in lower case, without parameters; nil before the response, and if it has none.
  ///   - url: of the request before the response, then of the response, after redirects.
  func isDocument(mimeType: String?, url: URL) -> Bool

  /// Whether a resource that is not named a document may be one by its content: its type does not
  /// state another one.
  ///
  /// - Parameter mimeType: in lower case, without parameters; nil if the response has none.
  func mayBeUnnamed(mimeType: String?) -> Bool

  /// Whether the origin holds its response to a URL back until the resource exists. The cache then
  /// waits longer for it, and the time until then does not count as the response's age.
  func isHeldBack(_ url: URL) -> Bool

  /// Returns how soon the origin changes a document, by its whole body; nil if it is none.
  ///
  /// - Parameters:
  ///   - url: of the request.
  ///   - beginning: at most the first 64 bytes.
  ///   - whole: returns the whole body; nil if it cannot be read.
  func pace(at url: URL, beginning: Data, whole: () -> Data?) -> UpdatePace?

  /// The extensions of the data files of documents, by MIME type, where the URL has no media
  /// extension: one to eight of `a`…`z`, `0`…`9`.
  var fileExtensions: [String: String] { get }

  /// Returns a decoder of a content coding (RFC 9110 §8.4.1), for documents that come encoded
  /// although every request asks for identity; nil if such documents cannot be decoded.
  func decoder(of coding: String) -> DocumentDecoder?
}

/// The most first bytes of a body that its rules receive at once.
let documentBeginning = 64

/// Returns the decoded body, of at most `limit` bytes.
public typealias DocumentDecoder =
  @Sendable (_ body: Data, _ limit: Int) throws(DocumentFault) -> Data

/// Why a body cannot be decoded.
public enum DocumentFault: Error, Sendable, Hashable {
  /// It ends before its last block.
  case truncated
  /// It is not in this coding, or its checksum differs.
  case invalid
  /// The decoded body is longer than allowed.
  case tooLong
}
