# SPDX-License-Identifier: Apache-2.0
"""Functions that are composed of others give on a CUDA tensor what they give on the host, on its device."""

import numpy as np
import pytest
from numpy_twins import same

import dltensor as dl

pytestmark = pytest.mark.usefixtures("loaded")

X = np.array([[1.0, -2.5, 3.0], [4.0, 0.5, -6.0]], dtype=np.float32)
I = dl.asarray([[6, 4, 0], [7, -2, 9]])
CALLS = """
pad(x,1) pad(x,2,"wrap") pad(x,2,"mean") pad(x,2,"linear_ramp",end_values=1.5)
pad(x,(0,3),"symmetric",reflect_type="odd") pad(x,1,"median",stat_length=2) pad(x,1,"minimum") trim_zeros(x,"f",1)
quantile(x,[0.0,0.6],1,weights=[1,0,2],method="inverted_cdf") nanpercentile(x,50,weights=i*i,method="inverted_cdf")
split(x,2)[1] diag(x[0]) diagonal(x) rot90(x) insert(x,1,9.0,axis=1) delete(x,[0],axis=1)
append(x,x,axis=0) vstack((x,x)) argwhere(x>0) sliding_window_view(x,2,axis=1) trim_zeros(x[0]) cbrt(x) sinc(x)
angle(x) heaviside(x,0.5) fmax(x,0.0) fmin(0.0,x) fmod(x,2.0) nan_to_num(x) sigmoid(x) softplus(x) relu(x) modf(x)
exp2(x) percentile(x,50) nanmedian(x,axis=0) nanprod(x) nancumsum(x) cov(x) cov(x,aweights=[1,0,2])
corrcoef(x) trace(x) unique(x)
unique(x,axis=0) setdiff1d(x,x[0]) lexsort((x[0],x[1])) partition(x,1) trapezoid(x) gradient(x) convolve(x[0],x[1])
correlate(x[0],x[1]) one_hot([0,2]) masked_fill(x,x>0,2.0) clamp_min(x,0.5) absolute(x) cumsum(x) dot(x[0],x[1])
gather(x,1,x[:,:1].astype("int64")*0) gcd(i,4) lcm(i,i) bitwise_count(i) packbits(i,1) unpackbits(i.astype("uint8"))
frexp(x) ldexp(x,i) logaddexp2(x,1.0) real_if_close(x+0j) unwrap(x) ediff1d(x,9.0) histogram_bin_edges(x) diag_embed(x)
histogram2d(x[0],x[1],2) histogramdd(x,2,density=True) block_diag(x,x) compress(x[:,0]>0,x,0) extract(x>0,x)
choose(i%2,(x,-x)) piecewise(x,[x>0],[abs,1]) apply_along_axis(dl.sum,1,x) flatten(x) unflatten(x,1,(3,1)) aminmax(x)
std_mean(x) scatter(x,1,i[:,:1]%3,x) scatter_add(x,1,i[:,:1]%3,x) index_add(x,0,[0,0],x) addmm(x,x[:,:2],x[:,:3])
leaky_relu(x) elu(x) silu(x) logsigmoid(x) divmod(x,2) cartesian_prod(x[0],x[1]) unwrap(i,period=3)
linear(x,x,x[0,:2]) layer_norm(x,3,x[0]) normalize(x) embedding(i[:,1:]%2,x) cosine_similarity(x,x) mse_loss(x,x[0])
scaled_dot_product_attention(x,x,x) scaled_dot_product_attention(x,x,x,x[:,:2]>0) cross_entropy(x,[0,2]) cdist(x,x)
dist(x,x[0]) bucketize(x,dl.sort(x[0])) narrow(x,1,0,2) complex(x,x) polar(x,x) view_as_real(x+0j) histc(x,3)
det(x[:,:2]) inverse(x[:,:2]) masked_scatter(x,x>0,x) view_as_complex(x[:,:2].copy()) r_[x[0],x[1],0] c_[x,x] float64(x)
quantized_matmul(x,i,0.5) x.view(3,2) gelu(x) lerp(x,x[0],0.5) addcdiv(x,x,x,value=0.5) addcmul(x,x,x)
take(x,[5,-1]) transpose(x,0,1) t(x) clone(x) repeat_interleave(x,2,dim=1) x.new_zeros(2,dtype="int8")
x.new_tensor([1,2]) x.to(x.device,"float64") FloatTensor(x) tensor([1,2],device=x.device) array(x,float,device=x.device)
fabs(x) rollaxis(x,1) resize(x,(2,4)) resize(x[:0],3) pinverse(x) svd(x[:,:2])[1] l1_loss(x,x[0]) angle(x,True)
smooth_l1_loss(x,x[0],beta=2.0) kl_div(x,x*x,reduction="batchmean") nll_loss(x,[0,2]) max_pool2d(x,2)
avg_pool2d(x,2,1,1)
binary_cross_entropy(x*x/99,x>0) binary_cross_entropy_with_logits(x,x>0) dropout(x,0.5,False) max(x,x[0]) min(x,x[0])
intersect1d(x,x[0],return_indices=True) hann_window(8,device=x.device) x.detach()
x.data x.new_zeros(x.size()) normal(x,0.0) range(0,3,device=x.device)
"""


@pytest.mark.parametrize("call", CALLS.split())
def test_a_composed_function_computes_on_the_device(call):
    call = call if call.startswith("x.") else f"dl.{call}"
    on_device = eval(call, {"dl": dl, "x": dl.asarray(X).to("cuda"), "i": I.to("cuda")})
    same(on_device, eval(call, {"dl": dl, "x": dl.asarray(X), "i": I}))
    found = on_device if isinstance(on_device, (tuple, list)) else [on_device]
    for one in [each for part in found for each in (part if isinstance(part, (tuple, list)) else [part])]:
        assert "one_hot" in call or str(one.device) == "cuda:0"


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: dl.rand(3, 2, device=x.device),
        lambda x: dl.randn(5, device=x.device, dtype="float64"),
        lambda x: dl.random.normal(0, 1, (2, 3), device=x.device),
        lambda x: dl.rand_like(x),
        lambda x: dl.randn_like(x),
        lambda x: dl.normal(x, 2.0),
        lambda x: dl.normal(2.0, x * x),
        lambda x: dl.randint(9, (7,), device=x.device),
        lambda x: dl.randperm(9, device=x.device),
        lambda x: dl.bernoulli(x * 0 + 0.5),
        lambda x: dl.multinomial(x * x, 2),
        lambda x: dl.multinomial(x * x, 5, True),
        lambda x: dl.dropout(x),
    ],
)
def test_the_generator_of_the_process_draws_the_same_on_the_device(draw):
    drawn = []
    for t in (dl.asarray(X), dl.asarray(X).to("cuda")):
        dl.manual_seed(7)
        drawn.append(draw(t))
    assert str(drawn[1].device) == "cuda:0"
    np.testing.assert_allclose(drawn[1].tolist(), drawn[0].tolist(), rtol=1e-6)


def test_sizes_and_swapped_dimensions_are_those_of_the_host():
    t = dl.zeros((2, 3, 4), device="cuda")
    assert (t.size, t.size(), t.size(-1), t.transpose(1, 2).shape) == (24, (2, 3, 4), 4, (2, 4, 3))


def test_copyto_and_put_write_to_the_device():
    here, there = dl.asarray(X, copy=True), dl.asarray(X).to("cuda")
    for t in (here, there):
        dl.copyto(t, 7.0, where=t < 0)
        dl.put(t, [0, -1], [1.5])
    assert there.tolist() == here.tolist()
    with pytest.raises(IndexError, match=r"^put: an index is out of range for 6 elements"):
        dl.put(there, [6], [1.0])
