// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain
import RefrainLocks

/// The recently requested resources, by the target of the request. Not for long, because held entries
/// are not evicted; whoever needs their descriptors or their disk has them released.
final class CachedHits: Sendable {
  /// At most half of the entries that may be open, so that requests for others find a place. A
  /// small file that is found here is served in a third of the time.
  private static let capacity = min(1024, max(64, DescriptorBudget.forEntries / 2))
  private static let patience = TimeAmount.seconds(10)

  private let resources = Mutex<[String: CachedHit]>([:])

  func resource(for target: String) -> CachedHit? {
    resources.withLock { $0[target] }
  }

  func insert(_ resource: CachedHit, for target: String) {
    release { resources in
      let replaced = resources.updateValue(resource, forKey: target)
      let hasRoom = resources.count <= Self.capacity
      return (replaced.map { [$0] } ?? [])
        + (hasRoom ? [] : Self.takeUnused(&resources, for: .zero))
    }
  }

  /// Releases resources that were not requested for a while.
  func releaseUnused() { release { Self.takeUnused(&$0, for: Self.patience) } }

  /// - Returns: whether there were any.
  @discardableResult
  func releaseAll() -> Bool {
    release { resources in
      defer { resources = [:] }
      return Array(resources.values)
    }
  }

  /// Releases, outside of the lock, what `take` takes. Returns whether there was anything.
  @discardableResult
  private func release(_ take: (inout [String: CachedHit]) -> [CachedHit]) -> Bool {
    let dropped = resources.withLock { take(&$0) }
    for resource in dropped { resource.release() }
    return !dropped.isEmpty
  }

  /// Removes and returns unused resources. If room is needed, leaves half of the capacity: most
  /// insertions then need no search.
  private static func takeUnused(
    _ resources: inout [String: CachedHit], for patience: TimeAmount
  ) -> [CachedHit] {
    let deadline = NIODeadline.now() - patience
    var dropped: [CachedHit] = []
    for (target, resource) in resources where !resource.wasUsed(since: deadline) {
      if patience == .zero, resources.count <= capacity / 2 { break }
      dropped.append(resource)
      resources[target] = nil
    }
    return dropped
  }
}

/// A recently requested resource: held open, with the constant part of its response heads rendered.
/// Requests for stored, fresh bytes are then served on the event loop that reads them.
final class CachedHit: Sendable {
  struct Hit {
    var status: Int
    var range: ByteRange
    /// Nil for HEAD.
    var file: EntryFile?
  }

  private struct State {
    var lease: EntryLease?
    var known: StoredResponse?
    /// The rendered fields of that response.
    var fields: [UInt8] = []
  }

  /// The URL as logged.
  let urlText: String
  private let fields: ResponseFields
  private let isShared: Bool
  private let naming: @Sendable () -> ReadTerms.Naming?
  /// The line Cache-Status, without the parameter that changes with time.
  private let statusStart: [UInt8]
  private let statusEnd: [UInt8]
  private let state: Mutex<State>
  private let lastUse = Atomic(NIODeadline.now().uptimeNanoseconds)

  /// - Parameters:
  ///   - isShared: whether the cache serves several people.
  ///   - naming: returns when a live playlist last named the resource again.
  init(
    lease: EntryLease, urlText: String, key: CacheKey, fields: ResponseFields, isShared: Bool,
    naming: @escaping @Sendable () -> ReadTerms.Naming?
  ) {
    (self.urlText, self.fields, self.isShared, self.naming) = (urlText, fields, isShared, naming)
    statusStart = Array("Cache-Status: \(fields.node); hit".utf8)
    statusEnd = Array("\(CacheStatus.parameter(for: key.rawValue))\r\n".utf8)
    state = Mutex(State(lease: lease))
  }

  var isLeased: Bool { state.withLock { $0.lease != nil } }

  /// Releases the entry.
  func release() {
    let lease = state.withLock { state in
      defer { state = State() }
      return state.lease
    }
    withExtendedLifetime(lease) {}
  }

  func wasUsed(since deadline: NIODeadline) -> Bool {
    lastUse.load(ordering: .relaxed) >= deadline.uptimeNanoseconds
  }

  /// Returns the hit for the request if all of it is stored and fresh; the buffer then contains the
  /// head except Connection and the empty line.
  func hit(
    for head: RequestHead, at now: NIODeadline, reusing buffer: inout ByteBuffer
  ) -> Hit? {
    let state = state.withLock { $0 }
    guard let lease = state.lease else { return nil }
    let date = lease.now
    var terms = ReadTerms()
    (terms.audience, terms.listing) = (.client, naming())
    // The response may differ from the one at the time of holding: a manifest may have to be
    // rewritten.
    guard let known = lease.known(terms, at: date), let length = known.information.length,
      !known.varies, !known.freshness.noStore, known.freshness.pace == nil
    else { return nil }
    if isShared, head.hasCookie, !known.isForEverybody { return nil }
    var range = 0..<length
    var status = 200
    if !head.isHEAD, head.range != nil {
      let asked = head.withRange { $0.flatMap { SimpleRange($0) } }
      guard let part = asked?.resolved(length: length) else { return nil }
      range = part
      status = 206
    }
    var file: EntryFile?
    if !head.isHEAD, !range.isEmpty {
      file = lease.file(of: known, holding: range)
      guard file != nil else { return nil }
    }
    lastUse.store(now.uptimeNanoseconds, ordering: .relaxed)
    let fields = state.known === known ? state.fields : rendered(known)
    writeHead(status, range, length, known, date.wall, fields, into: &buffer)
    return Hit(status: status, range: range, file: file)
  }

  private func writeHead(
    _ status: Int, _ range: ByteRange, _ length: Int64, _ known: StoredResponse, _ now: Date,
    _ fields: [UInt8], into buffer: inout ByteBuffer
  ) {
    buffer.clear()
    if status == 206 {
      buffer.writeStaticString("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes ")
      buffer.writeDecimal(range.lowerBound)
      buffer.writeStaticString("-")
      buffer.writeDecimal(range.upperBound - 1)
      buffer.writeStaticString("/")
      buffer.writeDecimal(length)
      buffer.writeStaticString("\r\nContent-Length: ")
    } else {
      buffer.writeStaticString("HTTP/1.1 200 OK\r\nContent-Length: ")
    }
    buffer.writeDecimal(range.upperBound - range.lowerBound)
    buffer.writeStaticString("\r\nAge: ")
    buffer.writeDecimal(ResponseFields.age(known.freshness, at: now))
    buffer.writeStaticString("\r\n")
    buffer.writeBytes(statusStart)
    let seconds = ResponseFields.timeToLive(known, at: now)
    buffer.writeStaticString(seconds < 0 ? "; ttl=-" : "; ttl=")
    buffer.writeDecimal(seconds)
    buffer.writeBytes(statusEnd)
    buffer.writeBytes(fields)
  }

  /// Renders the constant part of the head, for later hits too.
  private func rendered(_ known: StoredResponse) -> [UInt8] {
    var fields = fields.stored(known)
    self.fields.addVia(to: &fields)
    let bytes = Array(fields.fields.map { "\($0.name): \($0.value)\r\n" }.joined().utf8)
    state.withLock { state in
      if state.lease != nil { (state.known, state.fields) = (known, bytes) }
    }
    return bytes
  }
}
