// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import FoundationNetworking
  import Refrain

  /// A way to answer AVFoundation's requests, modelled after published ones: the parts that decide
  /// which bytes are fetched, kept in memory and written.
  protocol EarlierDesign: Sendable {
    /// Adds a new request.
    func add(_ call: Call)
    /// Removes a request that AVFoundation cancelled.
    func cancel(_ call: Call)
    /// Ends the design once the asset is gone.
    func end()
  }

  /// A loading request that a design handles.
  ///
  /// Unchecked, because AVFoundation's classes are not Sendable: locks guard the stand-in's state,
  /// and a design answers under a lock of its own.
  struct Call: @unchecked Sendable {
    private let request: AVAssetResourceLoadingRequest

    init(_ request: AVAssetResourceLoadingRequest) { self.request = request }

    var id: ObjectIdentifier { ObjectIdentifier(request) }

    /// The next byte that the request needs.
    var offset: Int64 { request.dataRequest?.currentOffset ?? 0 }

    /// Returns the end of the request.
    func end(length: Int64) -> Int64 {
      guard let wish = request.dataRequest else { return 0 }
      if wish.requestsAllDataToEndOfResource { return length }
      return min(length, wish.requestedOffset + Int64(wish.requestedLength))
    }

    func describe(length: Int64) {
      guard let wish = request.contentInformationRequest, wish.contentType == nil else { return }
      wish.contentType = "public.mpeg-4"
      wish.contentLength = length
      wish.isByteRangeAccessSupported = true
    }

    func give(_ bytes: Data) {
      guard !bytes.isEmpty, !request.isCancelled, !request.isFinished else { return }
      request.dataRequest?.respond(with: bytes)
    }

    func finish() { if !request.isCancelled, !request.isFinished { request.finishLoading() } }

    func breakOff() {
      guard !request.isCancelled, !request.isFinished else { return }
      request.finishLoading(with: CancellationError())
    }
  }

  /// Passes AVFoundation's calls to a design.
  final class DesignDelegate: NSObject, AVAssetResourceLoaderDelegate, Sendable {
    private let design: any EarlierDesign

    init(_ design: any EarlierDesign) { self.design = design }

    func resourceLoader(
      _ resourceLoader: AVAssetResourceLoader,
      shouldWaitForLoadingOfRequestedResource loadingRequest: AVAssetResourceLoadingRequest
    ) -> Bool {
      design.add(Call(loadingRequest))
      return true
    }

    func resourceLoader(
      _ resourceLoader: AVAssetResourceLoader,
      didCancel loadingRequest: AVAssetResourceLoadingRequest
    ) {
      design.cancel(Call(loadingRequest))
    }

    // None of the designs answers these.

    func resourceLoader(
      _ resourceLoader: AVAssetResourceLoader,
      shouldWaitForRenewalOfRequestedResource renewalRequest: AVAssetResourceRenewalRequest
    ) -> Bool { false }

    func resourceLoader(
      _ resourceLoader: AVAssetResourceLoader,
      shouldWaitForResponseTo authenticationChallenge: URLAuthenticationChallenge
    ) -> Bool { false }

    func resourceLoader(
      _ resourceLoader: AVAssetResourceLoader,
      didCancel authenticationChallenge: URLAuthenticationChallenge
    ) {}
  }

  /// One GET of a design: its head, then its bytes.
  struct Download {
    let length: Int64
    let body: any AsyncSequence<Data, any Error> & Sendable

    /// - Parameter range: nil: the whole resource, requested without a range.
    init(
      _ url: URL, _ range: (from: Int64, end: Int64?)?, by transport: any Transport
    ) async throws {
      var headers: HeaderFields = ["Accept-Encoding": "identity"]
      if let range {
        headers["Range"] = "bytes=\(range.from)-\(range.end.map { "\($0 - 1)" } ?? "")"
      }
      let response = try await transport.send(OriginRequest(url: url, headers: headers))
      let total =
        response.headers["Content-Range"]?.split(separator: "/").last.flatMap { Int64($0) }
        ?? response.headers["Content-Length"].flatMap { Int64($0) }
      guard response.status / 100 == 2, let total else { throw URLError(.badServerResponse) }
      length = total
      body = response.body
    }
  }
#endif
