// SPDX-License-Identifier: MIT
import Foundation

/// Decodes manifests that arrive compressed although every request asks for identity. Other
/// resources in a content coding are refused (`ResponseCheck`): ranges of them have other bytes.
///
/// A manifest is decoded as a whole, before anything of it is used: the response then has a known
/// length, and a body that ends too early is an error like a broken connection.
extension OriginExchange {
  /// Returns the response with its body decoded, if it brings a whole manifest in a coding that can
  /// be decoded, or that the transport decodes; otherwise the response as it is.
  ///
  /// - Throws: as reading the body; `MediaCacheError` if the body is cut short or damaged, or longer
  ///   than any manifest.
  func decoded(_ response: Response, to request: OriginRequest) async throws -> Response {
    guard WholeResponse.statuses.contains(response.status) else { return response }
    let body: Data
    if response.isDecoded {
      body = try await wholeBody(of: response, limit: Manifest.longest)
    } else if let coding = Self.coding(of: response, to: request), coding.isAvailable {
      let encoded = try await wholeBody(of: response, limit: Self.longestEncoded)
      body = try decode(encoded, in: coding, of: response)
    } else {
      return response
    }
    var decoded = response
    decoded.headers.dropCoding()
    decoded.headers.append("Content-Length", String(body.count))
    decoded.hasMore = nil
    decoded.body = AsyncThrowingStream<Data, any Error> { continuation in
      if !body.isEmpty { continuation.yield(body) }
      continuation.finish()
    }
    return decoded
  }

  /// Whether a response brings a part of an encoded manifest, which cannot be decoded: the same
  /// request without a range brings the whole one.
  static func isPartOfEncodedManifest(_ response: Response, to request: OriginRequest) -> Bool {
    response.status == 206 && request.headers["Range"] != nil
      && coding(of: response, to: request) != nil
  }

  /// Returns the coding of a manifest.
  private static func coding(of response: Response, to request: OriginRequest) -> ContentCoding? {
    guard let name = response.headers["Content-Encoding"],
      request.isForManifest(mimeType: MediaType.essence(response.headers["Content-Type"]))
    else { return nil }
    return ContentCoding(name)
  }

  /// The longest encoded body: bytes that cannot be compressed become slightly longer.
  private static let longestEncoded = Manifest.longest + 64 << 10

  private func wholeBody(of response: Response, limit: Int64) async throws -> Data {
    let declared = response.headers.bodyLength ?? 0
    guard declared <= limit else { throw Self.tooLong }
    var whole = Data()
    expectBody(isFirst: true)
    for try await chunk in response.body {
      guard Int64(whole.count + chunk.count) <= limit else { throw Self.tooLong }
      whole.append(chunk)
      expectBody(isFirst: false)
    }
    rest()
    return whole
  }

  private func decode(
    _ encoded: Data, in coding: ContentCoding, of response: Response
  ) throws -> Data {
    do {
      return try coding.decode(encoded, limit: Int(Manifest.longest))
    } catch .truncated {
      throw Self.undecodable(response, "ends too early", .answer)
    } catch .invalid {
      throw Self.undecodable(response, "is damaged, or is not \(coding)", .permanent)
    } catch .tooLong {
      throw Self.tooLong
    }
  }

  private static func undecodable(
    _ response: Response, _ what: String, _ retry: RetryPolicy.Failure
  ) -> MediaCacheError {
    var error = MediaCacheError(
      .unreachable,
      "The compressed manifest that \(response.url.host() ?? "the origin") sent \(what).",
      remedy: "Repair the manifest, or turn off its compression at the origin.")
    error.retry = retry
    return error
  }

  /// A client that can decode such a body may use the response as it is.
  private static var tooLong: MediaCacheError {
    var error = MediaCacheError(
      .invalidResponse,
      "The origin sends a compressed manifest of more than \(Manifest.longest >> 20) MiB.",
      remedy: "Shorten the manifest, or turn off its compression at the origin.")
    error.isEncoded = true
    return error
  }
}

extension OriginRequest {
  /// Whether a response of that type is a manifest.
  func isForManifest(mimeType: String?) -> Bool {
    expectsManifest || Manifest.isNamed(mimeType: mimeType, url: url)
  }
}

extension HeaderFields {
  /// Removes the fields that describe an encoded body, from a response whose body was decoded. Its
  /// validators remain: they identify the version, whose decoded bytes are always the same.
  mutating func dropCoding() {
    for name in [
      "Content-Encoding", "Content-Length", "Transfer-Encoding", "Content-MD5", "Content-Digest",
      "Repr-Digest", "Digest", "Accept-Ranges",
    ] {
      self[name] = nil
    }
  }
}
