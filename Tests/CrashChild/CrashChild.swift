// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A process that uses a cache directory until it is killed or has finished.
///
///     refrain-crash-child prefetch DIR URL SEED    every received chunk goes to stdout
///     refrain-crash-child read DIR URL SEED        the same, from readers that jump about
///     refrain-crash-child play DIR URL BYTES       reads all under RLIMIT_FSIZE; bytes to stdout
///     refrain-crash-child hold DIR URL BYTES       reads BYTES, reports it, and stays open
///     refrain-crash-child share DIR ORIGIN SEED    random operations beside others (SharingProcess)
@main
struct CrashChild {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 5, let url = URL(string: arguments[3]),
      let number = UInt64(arguments[4])
    else { exit(64) }
    let directory = URL(filePath: arguments[2], directoryHint: .isDirectory)
    switch arguments[1] {
    case "prefetch": try await prefetch(directory, url)
    case "read": try await read(directory, url, seed: number)
    case "play": try await play(directory, url, largestFile: number)
    case "hold": try await hold(directory, url, count: Int64(number))
    case "share":
      let cache = try open(directory, counting: false, limit: SharedLoad.limit)
      var process = SharingProcess(cache, directory, url, seed: number)
      await process.run()
    default: exit(64)
    }
  }

  private static var platformTransport: any Transport {
    #if os(Linux)
      CurlTransport()
    #else
      URLSessionTransport()
    #endif
  }

  private static func open(
    _ directory: URL, counting: Bool, limit: Int64? = nil
  ) throws -> MediaCache {
    var configuration = MediaCache.Configuration()
    configuration.limit = limit
    configuration.trustStored = true
    if counting { configuration.transport = CountingTransport(base: platformTransport) }
    return try MediaCache(directory: directory, configuration: configuration)
  }

  private static func prefetch(_ directory: URL, _ url: URL) async throws {
    let cache = try open(directory, counting: true)
    try await cache.prefetch(Resource(url: url))
    await cache.close()
  }

  /// Runs four readers that each read eight random ranges; then prefetches the rest.
  private static func read(_ directory: URL, _ url: URL, seed: UInt64) async throws {
    let cache = try open(directory, counting: true)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<4 {
        group.addTask {
          let reader = try await cache.open(Resource(url: url))
          defer { reader.cancel() }
          let length = try await reader.contentInformation().length ?? 1
          var random = seed &+ UInt64(index) &* 0x9E37_79B9_7F4A_7C15
          for _ in 0..<8 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let start = Int64(random >> 33) % length
            _ = try await reader.bytes(in: start..<min(start + (150 << 10), length))
          }
        }
      }
      try await group.waitForAll()
    }
    try await cache.prefetch(Resource(url: url))
    await cache.close()
  }

  private static func play(_ directory: URL, _ url: URL, largestFile: UInt64) async throws {
    signal(SIGXFSZ, SIG_IGN)
    var limit = rlimit(rlim_cur: rlim_t(largestFile), rlim_max: rlim_t(largestFile))
    #if canImport(Glibc)
      let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
    #else
      let resource = RLIMIT_FSIZE
    #endif
    guard setrlimit(resource, &limit) == 0 else { exit(1) }
    let cache = try open(directory, counting: false)
    let reader = try await cache.open(Resource(url: url))
    for try await chunk in reader.chunks() { Standard.write(chunk) }
    reader.cancel()
    await cache.close()
  }

  /// Holds the cache open until stdin ends.
  private static func hold(_ directory: URL, _ url: URL, count: Int64) async throws {
    let cache = try open(directory, counting: false)
    let reader = try await cache.open(Resource(url: url))
    let bytes = try await reader.bytes(in: 0..<count)
    Standard.write(Data("\(bytes.count)\n".utf8))
    await Standard.waitForEndOfInput()
    reader.cancel()
    await cache.close()
  }
}

enum Standard {
  /// Writes all of `data` to stdout at once. If the parent is gone, this process ends.
  static func write(_ data: Data) {
    data.withUnsafeBytes { buffer in
      var rest = buffer[...]
      while !rest.isEmpty {
        let part = UnsafeRawBufferPointer(rebasing: rest)
        let count = Foundation.write(1, part.baseAddress, part.count)
        if count < 0, errno != EINTR { exit(1) }
        rest = rest.dropFirst(max(count, 0))
      }
    }
  }

  static func waitForEndOfInput() async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      Thread.detachNewThread {
        var byte: UInt8 = 0
        while Foundation.read(0, &byte, 1) > 0 {}
        continuation.resume()
      }
    }
  }
}

/// Reports the place of each chunk before it passes it on: offset and length, 8 bytes each. Bytes
/// in the pipe outlive this process.
struct CountingTransport: Transport {
  let base: any Transport

  func send(_ request: OriginRequest) async throws -> OriginResponse {
    var response = try await base.send(request)
    let start = response.headers["Content-Range"]?.drop { !$0.isNumber }.prefix { $0.isNumber }
    let isBody = response.status == 200 || response.status == 206
    if isBody { response.body = Body(base: response.body, offset: Int64(start ?? "") ?? 0) }
    return response
  }

  struct Body: AsyncSequence, Sendable {
    typealias Element = Data
    let base: any AsyncSequence<Data, any Error> & Sendable
    let offset: Int64

    func makeAsyncIterator() -> Iterator {
      Iterator(base: base.makeAsyncIterator(), offset: offset)
    }

    struct Iterator: AsyncIteratorProtocol {
      var base: any AsyncIteratorProtocol<Data, any Error>
      var offset: Int64

      mutating func next() async throws -> Data? { try await next(isolation: nil) }

      mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
        guard let chunk = try await base.next(isolation: actor) else { return nil }
        var record = Data()
        for number in [offset, Int64(chunk.count)] {
          withUnsafeBytes(of: number.littleEndian) { record.append(contentsOf: $0) }
        }
        Standard.write(record)
        offset += Int64(chunk.count)
        return chunk
      }
    }
  }
}
