// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain
import RefrainLocks

/// The recently requested resources, by the target of the request. Not for long, because held
/// entries are not evicted; whoever needs their descriptors or their disk has them released. They
/// are deallocated outside of the lock, because that may take other locks.
final class CachedHits: Sendable {
  /// Half of the entries that may be open, within limits, so that requests for others find a place.
  /// A small file that is found here is served in a third of the time.
  private static let capacity = min(1024, max(64, DescriptorBudget.forEntries / 2))
  private static let patience = TimeAmount.seconds(10)

  private let resources = Mutex<[String: CachedHit]>([:])

  func resource(for target: String) -> CachedHit? {
    resources.withLock { $0[target] }
  }

  /// If there are too many, forgets the others, which their next requests insert again.
  func insert(_ resource: CachedHit, for target: String) {
    let dropped = resources.withLock { resources in
      let dropped = resources.count < Self.capacity ? [:] : exchange(&resources, with: [:])
      return (dropped, resources.updateValue(resource, forKey: target))
    }
    withExtendedLifetime(dropped) {}
  }

  /// Releases what was not requested for a while.
  func releaseUnused() {
    let deadline = NIODeadline.now() - Self.patience
    let dropped = resources.withLock { resources in
      exchange(&resources, with: resources.filter { $0.value.wasUsed(since: deadline) })
    }
    withExtendedLifetime(dropped) {}
  }

  /// Returns whether there were any.
  @discardableResult
  func releaseAll() -> Bool { !resources.withLock { exchange(&$0, with: [:]) }.isEmpty }
}

/// A recently requested resource: held open, with the constant part of its response heads rendered.
/// Requests for stored, fresh bytes are then served on the event loop that reads them.
final class CachedHit: Sendable {
  struct Hit {
    /// As logged.
    let url: String
    let status: Int
    let range: ByteRange
    /// Nil for HEAD, and for an empty resource.
    let file: EntryFile?

    var count: Int64 { file == nil ? 0 : range.upperBound - range.lowerBound }
  }

  private let urlText: String
  private let lease: EntryLease
  private let fields: ResponseFields
  private let sharing: SharingPolicy
  private let naming: @Sendable () -> ReadTerms.Naming?
  /// The rendered fields of the last response, up to the parameter that changes with time.
  private let rendering = Mutex<(of: StoredResponse?, fields: [UInt8])>((nil, []))
  private let lastUse = Atomic(NIODeadline.now().uptimeNanoseconds)

  /// - Parameter naming: returns when a live playlist last named the resource again.
  init(
    lease: EntryLease, urlText: String, fields: ResponseFields, sharing: SharingPolicy,
    naming: @escaping @Sendable () -> ReadTerms.Naming?
  ) {
    (self.lease, self.urlText, self.fields) = (lease, urlText, fields)
    (self.sharing, self.naming) = (sharing, naming)
  }

  func wasUsed(since deadline: NIODeadline) -> Bool {
    lastUse.load(ordering: .relaxed) >= deadline.uptimeNanoseconds
  }

  /// Returns the hit for the request if all of it is stored and fresh; the buffer then contains the
  /// head except Connection and the empty line.
  func hit(
    for head: RequestHead, at now: NIODeadline, reusing buffer: inout ByteBuffer
  ) -> Hit? {
    let date = lease.now
    var terms = ReadTerms()
    (terms.audience, terms.listing) = (.client, naming())
    // It may differ from the response held then: a manifest may have to be rewritten.
    guard let known = lease.known(terms, at: date), let length = known.information.length,
      !known.varies, !known.freshness.noStore, known.freshness.pace == nil,
      known.freshness.isTransformed == nil, sharing.mayReceive(known, hasCookies: head.hasCookie)
    else { return nil }
    var range = 0..<length
    var status = 200
    if !head.isHEAD, let place = head.range {
      let asked = head.withBytes(at: place) { RequestedRange($0) }
      guard let part = asked?.resolved(length: length) else { return nil }
      range = part
      status = 206
    }
    let hasBody = !head.isHEAD && !range.isEmpty
    let file = hasBody ? lease.file(of: known, holding: range) : nil
    if hasBody, file == nil { return nil }
    lastUse.store(now.uptimeNanoseconds, ordering: .relaxed)
    writeHead(status, range, length, known, date.wall, into: &buffer)
    return Hit(url: urlText, status: status, range: range, file: file)
  }

  private func writeHead(
    _ status: Int, _ range: ByteRange, _ length: Int64, _ known: StoredResponse, _ now: Date,
    into buffer: inout ByteBuffer
  ) {
    buffer.clear()
    if status == 206 {
      buffer.writeStaticString("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes ")
      buffer.writeString(String(range.lowerBound))
      buffer.writeStaticString("-")
      buffer.writeString(String(range.upperBound - 1))
      buffer.writeStaticString("/")
      buffer.writeString(String(length))
      buffer.writeStaticString("\r\nContent-Length: ")
    } else {
      buffer.writeStaticString("HTTP/1.1 200 OK\r\nContent-Length: ")
    }
    buffer.writeString(String(range.upperBound - range.lowerBound))
    buffer.writeStaticString("\r\nAge: ")
    buffer.writeString(String(ResponseFields.age(known.freshness, at: now)))
    buffer.writeStaticString("\r\n")
    buffer.writeBytes(rendered(known))
    buffer.writeString(String(ResponseFields.timeToLive(known, at: now)))
    buffer.writeStaticString("\r\n")
  }

  private func rendered(_ known: StoredResponse) -> [UInt8] {
    rendering.withLock { last in
      if last.of !== known {
        var fields = fields.stored(known)
        self.fields.addVia(to: &fields)
        let text = fields.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
        last = (known, Array("\(text)Cache-Status: \(self.fields.node); hit; ttl=".utf8))
      }
      return last.fields
    }
  }
}
