// SPDX-License-Identifier: MIT

/// The one error that Refrain throws (besides `CancellationError`): a code to act on, what failed
/// and why, and what to do about it.
public struct MediaCacheError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Code: String, Sendable, Hashable, Codable {
    /// The URL cannot be asked for: no host, or neither http nor https.
    case badURL
    /// A range or an offset lies outside of the resource, or is negative.
    case badRange
    /// The origin could not be reached, or stopped answering, for as long as `RetryPolicy` allows.
    case unreachable
    /// The device has a network, but none that `Configuration.network` allows for this. Playback and
    /// prefetching are asked for separately.
    case networkNotAllowed
    /// `Configuration.offline` is set, and the bytes wanted are not stored.
    case offline
    /// The origin answered with a status that is an error; `status` has it.
    case status
    /// The origin's answer contradicts HTTP, the request or itself.
    case invalidResponse
    /// More redirects than allowed, a loop of them, or one that leads from https to http.
    case redirect
    /// The resource changed at the origin after this reader had begun: its further bytes would
    /// belong to another version. Or a live stream broke off. Opening it again begins anew.
    case resourceChanged
    /// The cache directory, or a file in it, could not be used.
    case storage
    /// Another process, or a reader of this one, uses the entry.
    case inUse
    /// No entry is stored under that key.
    case notFound
    /// The reader or the cache was closed.
    case closed
    /// The program was used wrongly.
    case usage
  }

  public var code: Code
  /// What failed, and why: one sentence.
  public var reason: String
  /// What the person at the keyboard can do about it: one sentence, may be empty.
  public var remedy: String
  /// The origin's status code, where the origin gave one.
  public var status: Int?
  /// It was waited for too long.
  package var isTimeout = false
  /// What the transport, or the fetch, knows of trying again; nil: the code decides.
  var retry: RetryPolicy.Failure?
  /// The origin answered in a content coding that was declined: who can decode it may take the answer
  /// as it is.
  package var isEncoded = false
  /// What is stored is not for a request with cookies (`FreshnessRequirements.hasCookies`).
  package var isPersonal = false

  public init(_ code: Code, _ reason: String, remedy: String = "", status: Int? = nil) {
    self.code = code
    self.reason = reason
    self.remedy = remedy
    self.status = status
  }

  public var description: String { remedy.isEmpty ? reason : "\(reason) \(remedy)" }
}
