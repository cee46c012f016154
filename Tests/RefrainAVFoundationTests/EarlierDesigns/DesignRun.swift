// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Dispatch
  import Foundation
  import OriginServer
  import RefrainAVFoundation
  import RefrainLocks

  @testable import Refrain

  enum Design: String, CaseIterable, Sendable {
    case wholeInMemory = "whole file in memory"
    case byteByByte = "the same, byte by byte"
    case contiguousFile = "contiguous temporary file"
    case sparseFile = "sparse file, a request to the end"
    case sparseFileOfPieces = "sparse file, requests of 512 KiB"
    case refrain = "Refrain"

    /// Whether it downloads from the start, whichever bytes are requested.
    var downloadsFromTheStart: Bool { self == .wholeInMemory || self == .byteByByte }
  }

  /// One design under one trace, over a new origin.
  struct DesignRun: Sendable {
    struct Result: Sendable {
      var originBytes: Int64 = 0
      var originRequests = 0
      /// The number of bytes that the player received.
      var heardBytes: Int64 = 0
      var counts = Meter.Counts()
      /// The time from the request at the seek target to the first byte.
      var seekTime: Duration?
      /// The time from the first request of a launch to the end of the last, over all launches.
      var time = Duration.zero
      /// Requests that the design ended with an error, and that the player had to repeat.
      var brokenOff = 0
      /// Pieces that differed from the origin's bytes.
      var wrongPieces = 0
    }

    static let bytesPerSecond = 8 << 20
    static let roundTrip = Duration.milliseconds(40)

    let design: Design
    let trace: DesignTrace
    private let origin: OriginServer
    private let directory: URL
    private let meter = Meter()
    private let link = Link(bytesPerSecond: bytesPerSecond, roundTrip: roundTrip)
    private let bytes = SyntheticBytes(seed: 7)
    private let stored = SparseFile.Stored()
    private let path = "/a.mp4"

    static func run(_ design: Design, _ trace: DesignTrace) async throws -> Result {
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "refrain-design-\(UUID().uuidString)", directoryHint: .isDirectory)
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: directory) }
      let origin = try await OriginServer.start(sendBuffer: 256 << 10)
      let run = DesignRun(design: design, trace: trace, origin: origin, directory: directory)
      do {
        let result = try await run.result()
        await origin.stop()
        return result
      } catch {
        await origin.stop()
        throw error
      }
    }

    private init(design: Design, trace: DesignTrace, origin: OriginServer, directory: URL) {
      self.design = design
      self.trace = trace
      self.origin = origin
      self.directory = directory
      var resource = OriginResource.synthetic(seed: 7, length: trace.length)
      resource.contentType = "video/mp4"
      // Limits each response separately, so that sockets do not fill with bytes that the link does
      // not take.
      resource.bytesPerSecond = Self.bytesPerSecond
      resource.headers = [Field("Cache-Control", "max-age=3600")]
      origin.serve(resource, at: path)
    }

    private func result() async throws -> Result {
      var result = Result()
      for steps in trace.launches {
        try await launch(steps, &result)
      }
      let log = try await origin.wait(for: path) { $0.running == 0 }
      result.originBytes = log.bodyBytesSent
      result.originRequests = log.requests.count
      result.counts = meter.counts
      return result
    }

    private func launch(_ steps: [DesignTrace.Step], _ result: inout Result) async throws {
      let url = origin.url(path)
      let transport = MeteredTransport(
        base: CurlTransport(), link: link, meter: meter)
      guard let design = try earlier(url, transport) else {
        var configuration = MediaCache.Configuration()
        configuration.transport = transport
        let cache = try MediaCache(
          directory: directory, configuration: configuration,
          disk: MeteredDisk(meter: meter, mediaExtension: "mp4"))
        try await play(steps, cache.asset(for: url), &result)
        return await cache.close()
      }
      guard let disguised = URL(string: "design-\(url.absoluteString)") else { return }
      let asset = AVURLAsset(url: disguised)
      // AVFoundation does not retain the delegate.
      let delegate = DesignDelegate(design)
      asset.resourceLoader.setDelegate(delegate, queue: DispatchQueue(label: "design"))
      try await play(steps, asset, &result)
      withExtendedLifetime(delegate) { design.end() }
    }

    private func earlier(
      _ url: URL, _ transport: any Transport
    ) throws -> (any EarlierDesign)? {
      let file = directory.appending(path: "media.mp4")
      switch design {
      case .wholeInMemory, .byteByByte:
        return WholeInMemory(
          url, file: file, scansEveryByte: design == .byteByByte, transport: transport,
          meter: meter)
      case .contiguousFile:
        return try ContiguousFile(url, file: file, transport: transport, meter: meter)
      case .sparseFile, .sparseFileOfPieces:
        return try SparseFile(
          url, file: file, stored: stored, fill: design == .sparseFile ? nil : 512 << 10,
          transport: transport, meter: meter)
      case .refrain: return nil
      }
    }

    /// Refrain reads for each request into a separate buffer that is not visible from here: counted
    /// in full while the request is open. The other designs count their reads and copies.
    private var readBuffer: Int { design == .refrain ? MediaReader.Chunks.size : 0 }

    // MARK: The player

    private func play(
      _ steps: [DesignTrace.Step], _ asset: AVURLAsset, _ result: inout Result
    ) async throws {
      let wrong = Mutex(0)
      let heard = Mutex<Int64>(0)
      let sink: @Sendable (Int64, Data) -> Void = { [bytes] offset, data in
        heard.withLock { $0 += Int64(data.count) }
        let expected = Data(bytes.bytes(in: offset..<(offset + Int64(data.count))))
        if data != expected { wrong.withLock { $0 += 1 } }
      }
      let start = ContinuousClock.now
      var open: [PlayerRequest] = []
      for step in steps {
        let begin = ContinuousClock.now
        let request = asset.standInRequest(step.wish, sink: sink)
        meter.hold(readBuffer)
        if step.isSeek {
          await request.received(1)
          result.seekTime = ContinuousClock.now - begin
        }
        if let count = step.count {
          await request.received(count)
          if step.staysOpen {
            open.append(request)
          } else {
            await request.cancel()
            meter.letGo(readBuffer)
          }
        } else {
          open.append(request)
          await request.end()
        }
      }
      for request in open {
        var request = request
        while await request.end().error != nil, result.brokenOff < 10 {
          result.brokenOff += 1
          // As AVFoundation does, from the offset reached.
          let left = Int(trace.length - request.currentOffset)
          request = asset.standInRequest(
            .toEnd(from: request.currentOffset, length: left), sink: sink)
        }
        meter.letGo(readBuffer)
      }
      result.time += ContinuousClock.now - start
      result.heardBytes += heard.withLock { $0 }
      result.wrongPieces += wrong.withLock { $0 }
    }
  }
#endif
